import { Failure, errorMessage } from '../docker/setup/failure.mjs';

/**
 * What parseArgs complains of is the caller's to mend.
 *
 * @template T
 * @param {() => T} parse
 * @returns {T}
 */
export function readOptions(parse) {
  try {
    return parse();
  } catch (error) {
    throw new Failure(errorMessage(error), { remedy: 'See --help.' });
  }
}

/**
 * @param {string} option
 * @param {string} text
 * @param {number} least
 */
export function wholeNumber(option, text, least) {
  const number = Number(text);
  if (!/^\d{1,6}$/.test(text) || number < least)
    throw new Failure(`${option} takes a whole number from ${least} on, not ${text}.`);
  return number;
}
