import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SecboxError } from '@secbox/contracts';

export interface CarriedVariables {
  /** For the create command. No value is among them: everyone on the host can read a command line. */
  readonly options: readonly string[];
  /** For the program's own environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Hands a container's variables to the docker program for as long as `use` runs.
 *
 * They go in a file that only we can read. In the program's own environment, from which it would take
 * them as well, a caller's LD_PRELOAD, PATH or DOCKER_HOST would act on the program, outside any
 * container. That environment is left to what no line of a file can hold, such as a key in PEM form,
 * and refused to every name that steers a program.
 *
 * Under our init there are no variables here: they travel in band.
 */
export async function carryVariables<T>(
  variables: Readonly<Record<string, string>>,
  use: (carried: CarriedVariables) => Promise<T>,
): Promise<T> {
  const { lines, inherited } = divide(variables);
  const options = Object.keys(inherited).map((name) => `--env=${name}`);
  if (lines.length === 0) return use({ options, environment: inherited });

  const folder = await mkdtemp(join(tmpdir(), 'secbox-variables-'));
  try {
    const file = join(folder, 'variables');
    await writeFile(file, lines.map((line) => `${line}\n`).join(''), { mode: 0o600, flag: 'wx' });
    return await use({ options: [`--env-file=${file}`, ...options], environment: inherited });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Far below the 64 KiB at which the program gives up on a line. */
const longestLine = 32 * 1024;

/** What the program would not take for a comment, and would not trim. */
const plainName = /^\w[\w.-]*$/;

/** Names that the program, its runtime, the loader, or what it starts (ssh, plugins) may read for themselves. */
const steering = new RegExp(
  `^(?:${[
    '(?:LD|DYLD|GLIBC|GCONV|LOC|NLS|MALLOC|RES|RESOLV|LC|GO|SSL|SSH|XDG|OTEL|GIT)_?.*',
    '(?:DOCKER|BUILDKIT|BUILDX|COMPOSE|MOBY|NOTARY|WSL).*',
    '(?:HTTP|HTTPS|FTP|ALL|NO)_PROXY',
    'PATH|PATHEXT|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|TZ|TZDIR|ZONEINFO|HOSTALIASES|NO_COLOR',
    'TMPDIR|TMP|TEMP|SYSTEMROOT|WINDIR|COMSPEC|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAM.*',
  ].join('|')})$`,
  'i',
);

function divide(variables: Readonly<Record<string, string>>) {
  const lines: string[] = [];
  const inherited: Record<string, string> = {};
  for (const [name, value] of Object.entries(variables)) {
    const line = `${name}=${value}`;
    if (plainName.test(name) && !/[\r\n]/.test(value) && Buffer.byteLength(line) <= longestLine) {
      lines.push(line);
    } else if (name.includes('=') || steering.test(name)) {
      throw new SecboxError(
        'invalid_request',
        `The variable "${name}" cannot be set through the Docker CLI: its value is too long or has a line break, and its name means something to the CLI itself.`,
      );
    } else {
      inherited[name] = value;
    }
  }
  return { lines, inherited };
}
