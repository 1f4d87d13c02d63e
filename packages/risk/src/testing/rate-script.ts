import { assessCode } from '../assess-code.js';
import type { RiskLevel } from '../level.js';
import { loadParses } from '../syntax/parse.js';

/** Says of bash scripts how dangerous they look. */
export async function openRating(): Promise<(script: string) => RiskLevel> {
  const { parse } = await loadParses();
  return (script) => assessCode(parse, 'bash', script).level;
}
