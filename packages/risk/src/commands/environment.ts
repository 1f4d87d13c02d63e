import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import type { Spot } from '../report.js';

/** Prompts are expanded before they are shown, substitutions and all; with `set -x` also in scripts. */
const prompts = new Set(['PS0', 'PS1', 'PS2', 'PS4']);

/** Variables that decide what other programs load or run: by where they look, or by what they do beside what they are told. */
const deciding =
  /^(PS[0124]|PATH|HOME|SHELL|ENV|ZDOTDIR|INPUTRC|EXINIT|VIMINIT|PROMPT_COMMAND|PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|GCONV_PATH|TAR_OPTIONS|ZIPOPT|RIPGREP_CONFIG_PATH|((BASH|GIT|LD|LUA|MAGICK|NODE|NPM_CONFIG|npm_config|OPENSSL|PIP|XDG)_|LESS(?!ON)|(PERL5?|PYTHON|RUBY)[A-Z]|PERL_|PYTHON_PRESITE).*)$/s;

/** Of the same families, those that change what is shown, or how fast it comes, and those that only scripts have. */
const harmless =
  /^(PYTHON(UNBUFFERED|DONTWRITEBYTECODE|HASHSEED|UTF8|FAULTHANDLER|NOUSERSITE)|NODE_(ENV|VERSION|NO_WARNINGS|DISABLE_COLORS)|GIT_((AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|TERMINAL_PROMPT|BRANCH|COMMIT|HASH|REF|REPO|ROOT|SHA|TAG|URL|VERSION)|PIP_(NO_CACHE_DIR|NO_INPUT|DISABLE_PIP_VERSION_CHECK))$/;

const harmlessSetting =
  /^(PYTHONSAFEPATH=1|PYTHONIOENCODING=utf-?8(:\w+)?|SHELL=(\/usr)?\/bin\/(ba|da|z)?sh)$/i;

/** Names that programs of all kinds use so, and scripts for what is their own. */
const likely = /^(IFS|[A-Z0-9]*PATH|[A-Z0-9]*OPT|.*(OPTS|OPTIONS|FLAGS|EDITOR|PAGER))$/s;

/** Whether what programs load or run depends on the variable of this name that they are handed. */
export function decidesWhatRuns(name: string): boolean {
  const upper = name.toUpperCase();
  return isCommanding(upper) || likely.test(upper);
}

/** Whether a script that sets it changes what its words stand for; `NAME[0]` is NAME as well. */
export function isCommanding(variable: string): boolean {
  const end = variable.indexOf('[');
  const name = end < 0 ? variable : variable.slice(0, end);
  return deciding.test(name) && !harmless.test(name);
}

/** Python loads nothing from the folder it works in as long as this is set. */
const guard = 'PYTHONSAFEPATH';

/** What it means that a variable is taken away, or is no longer handed to other programs. */
export function assessUnsetting(piece: Piece, name: string, at: Spot): void {
  const [variable = ''] = name.split('[');
  if (variable === guard || variable.includes(hole)) piece.add('name.environment', at);
}

/** What it means that a variable is set; as `NAME=value`, of which parts may be holes. */
export function assessSetting(piece: Piece, setting: string, at: Spot): void {
  const end = setting.indexOf('=');
  const name = end < 0 ? setting : setting.slice(0, end);
  if (name.includes(hole)) {
    // Any variable, such as those of a file that is exported as a whole.
    piece.add('name.environment', at);
    return;
  }
  if (end < 0 || !isCommanding(name) || harmlessSetting.test(setting)) return;
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
