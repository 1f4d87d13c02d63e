import type { ContainerPurpose, EngineImage, EngineInfo, OwnedContainer } from './container-engine.js';

/** What an engine answers, the same by its API and through the docker program, and what we take from it. */

export interface ImageAnswer {
  readonly Id: string;
  /** Null, as its parts may be, where the image sets nothing. */
  readonly Config?: {
    readonly Labels?: Readonly<Record<string, string>> | null;
    readonly Env?: readonly string[] | null;
  } | null;
}

export function imageOf({ Id, Config }: ImageAnswer): EngineImage {
  return {
    id: Id,
    labels: Config?.Labels ?? {},
    environment: Object.fromEntries((Config?.Env ?? []).map(splitVariable)),
  };
}

function splitVariable(entry: string): [string, string] {
  const at = entry.indexOf('=');
  return at < 0 ? [entry, ''] : [entry.slice(0, at), entry.slice(at + 1)];
}

export interface InfoAnswer {
  readonly OperatingSystem: string;
  readonly NCPU: number;
  readonly MemTotal: number;
  readonly DefaultRuntime: string;
  readonly Runtimes?: Readonly<Record<string, { readonly runtimeArgs?: readonly string[] | null }>> | null;
}

export interface VersionAnswer {
  readonly Version: string;
  readonly ApiVersion: string;
}

export function infoOf(info: InfoAnswer, version: VersionAnswer): EngineInfo {
  return {
    version: version.Version,
    apiVersion: version.ApiVersion,
    operatingSystem: info.OperatingSystem,
    cpus: info.NCPU,
    memoryBytes: info.MemTotal,
    defaultRuntime: info.DefaultRuntime,
    runtimes: Object.entries(info.Runtimes ?? {}).map(([name, { runtimeArgs }]) => ({
      name,
      args: runtimeArgs ?? [],
    })),
  };
}

const purposes: readonly ContainerPurpose[] = ['exec', 'pool', 'self-test'];

export function purposeOf(label: string | undefined): ContainerPurpose | undefined {
  return purposes.find((purpose) => purpose === label);
}

/** What an engine calls those of which it does not say whether they ever ran. */
const notSurelyStarted = ['created', 'removing', 'dead'];

export function stateIn(status: string): Pick<OwnedContainer, 'running' | 'started'> {
  return { running: status === 'running', started: !notSurelyStarted.includes(status) };
}
