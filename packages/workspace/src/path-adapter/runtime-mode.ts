import { settingError } from './setting-error.js';

/** What kind of system this process runs on, as far as paths go. */
export type RuntimeMode = 'windows' | 'wsl' | 'linux';

export type RuntimeModeSetting = RuntimeMode | 'auto';

/** What a process can learn about its system; gathered by the caller, so that deciding is pure. */
export interface RuntimeFacts {
  /** As `process.platform`. */
  readonly platform: string;
  /** As `os.release()`. */
  readonly release: string;
  /** The content of `/proc/version`, where there is one. */
  readonly procVersion?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A container shares the kernel of its WSL host, but none of its drives. */
  readonly inContainer?: boolean | undefined;
}

/** Every system with POSIX paths that is not WSL counts as linux. */
export function detectRuntimeMode(facts: RuntimeFacts): RuntimeMode {
  if (facts.platform === 'win32') return 'windows';
  if (facts.platform !== 'linux' || facts.inContainer === true) return 'linux';
  return hasWslKernel(facts) || hasWslEnvironment(facts) ? 'wsl' : 'linux';
}

/** The administrator's choice, unless this system cannot have paths of that kind. */
export function resolveRuntimeMode(setting: RuntimeModeSetting, facts: RuntimeFacts): RuntimeMode {
  if (setting === 'auto') return detectRuntimeMode(facts);
  if ((setting === 'windows') !== (facts.platform === 'win32')) {
    throw settingError(
      'SECBOX_RUNTIME_MODE',
      `${setting} is impossible on ${facts.platform}; set it to auto or ${detectRuntimeMode(facts)}.`,
    );
  }
  return setting;
}

function hasWslKernel({ release, procVersion }: RuntimeFacts): boolean {
  return /microsoft|wsl2/i.test(`${release} ${procVersion ?? ''}`);
}

/** A WSL with a kernel of one's own is known by these alone; services may lack them, so they are not enough. */
function hasWslEnvironment({ env }: RuntimeFacts): boolean {
  return Boolean(env['WSL_DISTRO_NAME']) || Boolean(env['WSL_INTEROP']);
}
