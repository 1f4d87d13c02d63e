import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import type { Spot } from '../report.js';

/** Prompts are expanded before they are shown, substitutions and all; with `set -x` also in scripts. */
const prompts = new Set(['PS0', 'PS1', 'PS2', 'PS4']);

/** Variables that decide what other programs load or run. */
export const commanding: ReadonlySet<string> = new Set([
  ...prompts,
  'PATH',
  'LD_PRELOAD',
  'LD_LIBRARY_PATH',
  'LD_AUDIT',
  'BASH_ENV',
  'ENV',
  'PROMPT_COMMAND',
  'PYTHONPATH',
  'PYTHONHOME',
  'PYTHONSTARTUP',
  'PYTHONINSPECT',
  'PYTHONBREAKPOINT',
  'NODE_OPTIONS',
  'NODE_PATH',
  'PERL5LIB',
  'PERL5OPT',
  'RUBYLIB',
  'RUBYOPT',
  'GIT_SSH',
  'GIT_SSH_COMMAND',
  'GIT_EXTERNAL_DIFF',
  'GIT_PAGER',
  'PAGER',
  'MANPAGER',
  'LESSOPEN',
  'EDITOR',
  'VISUAL',
  'BROWSER',
]);

/** What it means that a variable is set; as `NAME=value`, of which parts may be holes. */
export function assessSetting(piece: Piece, setting: string, at: Spot): void {
  const end = setting.indexOf('=');
  const name = end < 0 ? setting : setting.slice(0, end);
  if (name.includes(hole)) {
    // Any variable, such as those of a file that is exported as a whole.
    piece.add('name.environment', at);
    return;
  }
  if (end < 0 || !commanding.has(name)) return;
  const value = setting.slice(end + 1);
  if (prompts.has(name)) expandText(piece, value, at);
  else if (name === 'PROMPT_COMMAND') piece.runs('bash', value, at);
  if (!prompts.has(name) && !(name === 'PATH' && value.split(':').every(isSystemFolder)))
    piece.add('name.environment', at);
}

/** Folders that only an administrator can change. */
function isSystemFolder(path: string): boolean {
  return /^\/(bin|sbin|usr|opt)(\/|$)/.test(path) && !path.includes('..') && !path.includes(hole);
}

/** What a shell does with a text that it expands though it is none of the script's own words. */
export function expandText(piece: Piece, text: string, at: Spot): void {
  if (!text.includes('$(') && !text.includes('`')) return;
  piece.add('code.smuggled', at);
  piece.runs('bash', `cat <<SECBOX_TEXT\n${text}\nSECBOX_TEXT\n`, at);
}
