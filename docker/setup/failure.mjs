import { watchNpm } from './npm-parent.mjs';

/**
 * A failure the user can do something about. It is printed without a stack
 * trace: what went wrong, then what to do.
 */
export class Failure extends Error {
  /**
   * @param {string} message what went wrong, in one sentence
   * @param {{ remedy?: string, details?: string, exitCode?: number, cause?: unknown }} [more]
   */
  constructor(message, { remedy = '', details = '', exitCode = 1, cause } = {}) {
    super(message, { cause });
    this.name = 'Failure';
    this.remedy = remedy;
    this.details = details;
    this.exitCode = exitCode;
  }
}

/** The user asked to stop; not an error, but nothing more may be started. */
export class Interrupted extends Error {
  /** @param {NodeJS.Signals} signal */
  constructor(signal) {
    super(`Stopped by ${signal}.`);
    this.name = 'Interrupted';
    this.exitCode = signal === 'SIGINT' ? 130 : signal === 'SIGHUP' ? 129 : 143;
  }
}

/**
 * @param {unknown} error
 * @returns {{ text: string, exitCode: number }}
 */
export function describeFailure(error) {
  if (error instanceof Interrupted) return { text: error.message, exitCode: error.exitCode };
  if (error instanceof Failure) {
    const parts = [error.message, error.details, error.remedy].filter((part) => part !== '');
    return { text: parts.join('\n\n'), exitCode: error.exitCode };
  }
  const unexpected = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { text: `Unexpected error, please report it:\n${unexpected}`, exitCode: 70 };
}

/**
 * Runs a command line program to its end and turns what it throws into a
 * message and an exit code.
 *
 * @param {(signal: AbortSignal) => Promise<number | undefined>} main
 */
export async function runCommand(main) {
  const interruption = new AbortController();
  /** @param {NodeJS.Signals} name */
  const interrupt = (name) => {
    // Told once is enough: the death of npm that follows is no second signal.
    unwatch();
    interruption.abort(new Interrupted(name));
  };
  const unwatch = watchNpm(process.env);
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(name, interrupt);
  try {
    process.exitCode = (await main(interruption.signal)) ?? 0;
  } catch (thrown) {
    // What breaks while we are being stopped breaks because of that.
    const error = interruption.signal.aborted ? reasonOf(interruption.signal) : thrown;
    const { text, exitCode } = describeFailure(error);
    process.stderr.write(`\n${text}\n`);
    process.exitCode = exitCode;
  } finally {
    unwatch();
    for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.off(name, interrupt);
  }
}

/**
 * @param {AbortSignal} signal
 * @returns {unknown}
 */
function reasonOf(signal) {
  return signal.reason;
}

/**
 * @param {unknown} error
 * @returns {string | undefined} the code of a system error, such as ENOENT
 */
export function errorCode(error) {
  // By its form, not its class: under a test runner the system's errors are of another realm.
  const { code } = /** @type {{ code?: unknown }} */ (error ?? {});
  return typeof code === 'string' ? code : undefined;
}

/**
 * @param {unknown} error
 * @returns {string}
 */
export function errorMessage(error) {
  const { message, errors } = /** @type {{ message?: unknown, errors?: unknown }} */ (error ?? {});
  // Several addresses were tried, and each failed.
  if (message === '' && Array.isArray(errors)) return errors.map(errorMessage).join('; ');
  return typeof message === 'string' ? message : String(error);
}
