/**
 * JSON.parse whose result must be looked at before it is used.
 *
 * @param {string} text
 * @returns {unknown}
 */
export function parseJson(text) {
  return JSON.parse(text);
}
