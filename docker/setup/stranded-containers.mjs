import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from './failure.mjs';

const END_MS = 30_000;

/**
 * Ends what goes on of an engine that was killed: who watches its containers, and the containers. When it comes up
 * again it ends those that it knows of by itself, but one that it was just making would stay for good, holding its
 * memory and the folders it was given.
 *
 * @param {{ namespace: string, dataRoot: string }} engine
 */
export async function endStranded(engine) {
  const deadline = Date.now() + END_MS;
  // Again and again: who watches may be starting another while it is looked at.
  for (let pids = strandedProcesses(engine); pids.length > 0; pids = strandedProcesses(engine)) {
    if (Date.now() > deadline) {
      throw new Failure(`Processes of an engine that was killed do not end: ${pids.join(', ')}.`, {
        remedy: 'They wait for the kernel, most often for a disk that does not answer. Restart this machine.',
      });
    }
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    }
    await sleep(20);
  }
}

/**
 * To be asked while that engine does not run: all of its processes are meant by then.
 *
 * @param {{ namespace: string, dataRoot: string }} engine
 * @returns {number[]} who watches its containers, what these have started, and all that is in the containers
 */
export function strandedProcesses({ namespace, dataRoot }) {
  if (process.platform !== 'linux') return [];
  const containers = containerIds(dataRoot);
  const processes = readProcesses();
  const ours = new Set(
    processes
      .filter(
        ({ command, cgroups }) =>
          (command.includes('containerd-shim') && command.includes(`\0${namespace}\0`)) ||
          containers.some((id) => cgroups.includes(id)),
      )
      .map(({ pid }) => pid),
  );
  for (let known = -1; known !== ours.size;) {
    known = ours.size;
    for (const { pid, parent } of processes) if (ours.has(parent)) ours.add(pid);
  }
  return [...ours];
}

/** @param {string} dataRoot */
function containerIds(dataRoot) {
  const folder = path.join(dataRoot, 'containers');
  return existsSync(folder) ? readdirSync(folder).filter((name) => /^[0-9a-f]{64}$/.test(name)) : [];
}

/** Those that have not ended: a zombie holds nothing, and cannot be killed. */
function readProcesses() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      command: read(`/proc/${name}/cmdline`),
      cgroups: read(`/proc/${name}/cgroup`),
      status: read(`/proc/${name}/status`),
    }))
    .filter(({ status }) => status !== '' && !/^State:\s*Z/m.test(status))
    .map(({ status, ...found }) => ({
      ...found,
      parent: Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? Number.NaN),
    }));
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
