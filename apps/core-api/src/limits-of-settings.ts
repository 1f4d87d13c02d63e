import { quotasOf } from '@secbox/access';
import type { Settings } from '@secbox/contracts';
import type { AdmissionLimits, DiskSettings } from '@secbox/exec-runner';
import type { EngineCapacity } from '@secbox/policy';
import type { Config } from './config.js';

const mebibyte = 1024 ** 2;
const defaultWorkMb = 2048;
const defaultUserMb = 2048;
/** As a disk has them: an inode for so many bytes. */
const bytesPerEntry = 8192;
/** Each change of a skill has to do with all files that a user has of it. */
const mostUserEntries = 100_000;
/** As an upload may have. */
const leastUserEntries = 10_000;

export interface StorageLimit {
  readonly bytes: number;
  readonly entries: number;
}

/** What a project's work, or a general sandbox, may take. */
export function workLimitOf({ sandbox }: Settings): StorageLimit {
  const bytes = (sandbox?.project_work_mb ?? defaultWorkMb) * mebibyte;
  return { bytes, entries: bytes / bytesPerEntry };
}

/** What one user may have of skills with one agent. */
export function userLimitOf({ skills }: Settings): StorageLimit {
  const bytes = (skills?.user_mb ?? defaultUserMb) * mebibyte;
  return { bytes, entries: Math.min(Math.max(bytes / bytesPerEntry, leastUserEntries), mostUserEntries) };
}

/** Of the engine's memory, what execs may have together; the rest is for the engine, its page cache and us. */
const memoryShare = 0.8;

export function admissionLimits(
  config: Config,
  { sandbox, quotas }: Settings,
  capacity: EngineCapacity,
): AdmissionLimits {
  return {
    maxConcurrent: sandbox?.max_concurrent_execs ?? config.maxConcurrentExecs,
    maxMemoryMb: Math.floor(capacity.memory_mb * memoryShare),
    maxQueued: sandbox?.max_queued_execs ?? config.maxQueuedExecs,
    tenantLimits: (tenant) => {
      const { max_concurrent_execs: maxConcurrent, max_queued_execs: maxQueued } = quotasOf(quotas, tenant);
      return { maxConcurrent, maxQueued };
    },
  };
}

export function diskSettings(settings: Settings): DiskSettings {
  return {
    workBytes: workLimitOf(settings).bytes,
    minFreeBytes: (settings.sandbox?.min_free_mb ?? 1024) * mebibyte,
  };
}
