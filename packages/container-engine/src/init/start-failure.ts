import type { StartStep } from './protocol.js';

/** Linux's numbers, which are not those of the machine this runs on when that is Windows or a Mac. */
const errnoNames: Readonly<Record<number, string>> = {
  1: 'EPERM',
  2: 'ENOENT',
  5: 'EIO',
  7: 'E2BIG',
  8: 'ENOEXEC',
  11: 'EAGAIN',
  12: 'ENOMEM',
  13: 'EACCES',
  20: 'ENOTDIR',
  21: 'EISDIR',
  22: 'EINVAL',
  23: 'ENFILE',
  24: 'EMFILE',
  26: 'ETXTBSY',
  28: 'ENOSPC',
  36: 'ENAMETOOLONG',
  40: 'ELOOP',
};

const commandNotFound = 127;
const commandNotExecutable = 126;

export interface StartFailure {
  readonly step: StartStep;
  readonly errno: number;
}

/** `ENOENT` rather than 2; numbers that starting a command does not usually meet stay numbers. */
export function errnoName(errno: number): string {
  return errnoNames[errno] ?? `errno ${errno}`;
}

/**
 * What a shell would exit with. Undefined where no shell would have come that far: the sandbox could not
 * be set up for the command, which says nothing about the command.
 */
export function shellExitCode({ step, errno }: StartFailure): 126 | 127 | undefined {
  if (step === 'interpreter') return commandNotFound;
  if (step !== 'exec') return undefined;
  const name = errnoName(errno);
  return name === 'ENOENT' || name === 'ENOTDIR' ? commandNotFound : commandNotExecutable;
}

/** One sentence for a person, without the command's own words. */
export function describeStartFailure({ step, errno }: StartFailure): string {
  const reason = errnoName(errno);
  switch (step) {
    case 'exec':
      if (reason === 'ENOENT') return 'The command was not found.';
      if (reason === 'E2BIG') return 'The arguments and the environment are too long for the kernel (E2BIG).';
      return `The command cannot be executed (${reason}).`;
    case 'interpreter':
      return 'The command exists, but the interpreter or loader that it names does not.';
    case 'chdir':
      return `The working directory cannot be entered (${reason}).`;
    case 'fork':
      return `The sandbox could not start a process (${reason}).`;
    case 'limits':
      return `A resource limit could not be set (${reason}).`;
    case 'shield':
      return `The kernel refused the filter that protects init (${reason}).`;
    case 'descriptors':
      return `The sandbox could not open its pipes (${reason}).`;
  }
}
