import { SecboxError, type ArgvCommand, type ExecCommand } from '@secbox/contracts';
import { containerPaths } from '@secbox/container-engine';
import { parseRelativePath } from '@secbox/workspace';

/** What runs inside the container, checked. */
export interface PlannedCommand {
  readonly kind: (ExecCommand | ArgvCommand)['kind'];
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** All the command sees: the image's own variables, and the request's over them. */
  readonly environment: Readonly<Record<string, string>>;
  /** The names that the request set. */
  readonly environmentKeys: readonly string[];
  readonly stdin: string;
}

/** The kernel refuses a longer single argument or environment entry, its end mark included. */
const maxArgumentBytes = 131_071;
/** What the init takes as one request, less room for the image's own variables, the program and its folder. */
const maxTotalBytes = 1_048_576 - 65_536;

export function planCommand(
  exec: ExecCommand | ArgvCommand,
  imageEnvironment: Readonly<Record<string, string>>,
): PlannedCommand {
  checkForm(exec);
  assertWellFormed('exec.args', exec.args);
  assertWellFormed('exec.env', Object.values(exec.env ?? {}));
  assertWellFormed('exec.stdin', [exec.stdin ?? '']);
  checkSizes(exec);
  return {
    kind: exec.kind,
    command: exec.command,
    args: exec.args,
    cwd: planWorkingDirectory(exec.cwd),
    environment: { ...imageEnvironment, ...planEnvironment(exec.env ?? {}) },
    environmentKeys: Object.keys(exec.env ?? {}).sort(),
    stdin: exec.stdin ?? '',
  };
}

function checkForm({ kind, command, args }: ExecCommand | ArgvCommand): void {
  const [first = '', second] = args;
  switch (kind) {
    case 'shell':
      if (command !== 'bash' || first !== '-lc' || second === undefined) {
        throw invalid('exec', 'kind "shell" takes command "bash" and args ["-lc", "<script>", …].');
      }
      return;
    case 'python':
      if (command !== 'python' || (first === '-c' ? second === undefined : !isScript(first))) {
        throw invalid(
          'exec',
          'kind "python" takes command "python" and args ["-c", "<code>", …] or ["/workspace/inputs/<file>", …].',
        );
      }
      return;
    case 'argv':
  }
}

const loneSurrogate = /\p{Surrogate}/u;

/** Half a character has no bytes: it would reach the program as something else than was sent. */
export function assertWellFormed(field: string, texts: readonly string[]): void {
  if (texts.some((text) => loneSurrogate.test(text)))
    throw invalid(field, 'a text holds half a Unicode character.');
}

function isScript(path: string): boolean {
  const folder = Object.values(containerPaths).find((root) => path.startsWith(`${root}/`));
  if (folder === undefined) return false;
  parseRelativePath(path.slice(folder.length + 1), 'exec.args[0]');
  return true;
}

function checkSizes({ args, env = {} }: Pick<ExecCommand, 'args' | 'env'>): void {
  const entries = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const sizes = [...args, ...entries].map((text) => Buffer.byteLength(text) + 1);
  if (args.some((argument) => argument.includes('\0')))
    throw invalid('exec.args', 'an argument must not hold NUL.');
  if (sizes.some((size) => size > maxArgumentBytes)) {
    throw invalid(
      'exec',
      `one argument or environment entry has at most ${maxArgumentBytes - 1} bytes; send more as an input file.`,
    );
  }
  if (sizes.reduce((sum, size) => sum + size, 0) > maxTotalBytes) {
    throw invalid(
      'exec',
      `arguments and environment together have at most ${maxTotalBytes} bytes; send more as an input file.`,
    );
  }
}

function planWorkingDirectory(cwd: string = containerPaths.work): string {
  for (const root of Object.values(containerPaths)) {
    if (cwd === root || cwd === `${root}/`) return root;
    if (cwd.startsWith(`${root}/`)) {
      return `${root}/${parseRelativePath(cwd.slice(root.length + 1), 'exec.cwd').join('/')}`;
    }
  }
  throw new SecboxError(
    'invalid_path',
    `exec.cwd must be inside ${Object.values(containerPaths).join(', ')}.`,
    {
      details: { field: 'exec.cwd' },
    },
  );
}

const environmentName = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;
/** They make the loader, the shell or the interpreter run something before the command that the audit names. */
const hijacking =
  /^(LD_.*|GLIBC_TUNABLES|GCONV_PATH|BASH_ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|ENV|PS4|PROMPT_COMMAND|PYTHONSTARTUP|PYTHONHOME)$/;

function planEnvironment(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(env)) {
    if (!environmentName.test(name)) {
      throw invalid(
        'exec.env',
        'a name must be letters, digits and underscores, and not begin with a digit.',
      );
    }
    if (hijacking.test(name)) throw invalid('exec.env', `${name} may not be set.`);
    if (value.includes('\0')) throw invalid('exec.env', `the value of ${name} must not hold NUL.`);
  }
  return env;
}

function invalid(field: string, why: string): SecboxError {
  return new SecboxError('invalid_request', `${field}: ${why}`, { details: { field } });
}
