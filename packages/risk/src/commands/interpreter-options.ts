import type { AssessedLanguage } from '../language.js';
import { hole } from '../place.js';

/** What the words after an interpreter's name make it run. */
export interface Start {
  readonly from: 'code' | 'module' | 'script' | 'stdin' | 'nothing';
  /** The code, or the name of the module. */
  readonly text: string;
  /** What stands behind it. */
  readonly rest: readonly string[];
  /** Whether an option is among them that is not known to load nothing. */
  readonly unseen: boolean;
  /** Whether it goes on with what it reads from its stdin. */
  readonly interactive: boolean;
}

type Found = Partial<Start> & Pick<Start, 'from'>;

const start = (found: Found): Start => ({ text: '', rest: [], unseen: false, interactive: false, ...found });

/** Options of bash's that are words, also behind a single dash; true: the next word is a file that it runs. */
const shellWords: ReadonlyMap<string, boolean> = new Map([
  ...['login', 'noediting', 'noprofile', 'norc', 'posix', 'restricted', 'verbose', 'version', 'help'].map(
    (name): [string, boolean] => [name, false],
  ),
  ['rcfile', true],
  ['init-file', true],
]);

/** Not among them: -E of python, which leaves the variable unread that keeps it from loading what lies in its folder. */
const codeOptions: Record<AssessedLanguage, RegExp> = {
  bash: /^-[abefhiklmnprstuvxBCDEHPT]*c[abefhiklmnprstuvxBCDEHPT]*$/,
  python: /^-[BbdOqRsSuvPI]*c$/,
  javascript: /^(-e|-p|-pe|--eval|--print)$/,
};

/** Whether the next word is code, and all that the interpreter loads. */
export function codeOption(language: AssessedLanguage, word: string): boolean {
  return codeOptions[language].test(word) && !(language === 'bash' && shellWords.has(word.slice(1)));
}

export function startOf(language: AssessedLanguage, args: readonly string[]): Start {
  switch (language) {
    case 'bash':
      return startOfShell(args);
    case 'python':
      return startOfPython(args);
    case 'javascript':
      return startOfNode(args);
  }
}

function startOfShell(args: readonly string[]): Start {
  let letters = '';
  let unseen = false;
  let index = 0;
  for (; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    if (arg === '--' || arg === '-') {
      index += 1;
      break;
    }
    if (!/^[-+]/.test(arg)) break;
    const word = arg.replace(/^--?/, '');
    const takesFile = letters === '' ? shellWords.get(word) : undefined;
    if (takesFile !== undefined) {
      if (index === 0 && (word === 'version' || word === 'help')) return start({ from: 'nothing' });
      if (takesFile) index += 1;
      unseen ||= takesFile;
      continue;
    }
    if (!/^[-+][abcefhiklmnoprstuvxBCDEHOPT]+$/.test(arg)) unseen = true;
    letters += arg.slice(1);
    // Each of these takes a word, wherever it stands in a bundle.
    index += arg.replace(/[^oO]/g, '').length;
  }
  const interactive = letters.includes('i');
  const next = args[index];
  if (letters.includes('c'))
    return start({ from: 'code', text: next ?? hole, rest: args.slice(index + 1), unseen });
  const fromStdin = letters.includes('s') || next === undefined || next === '/dev/stdin';
  return start({ from: fromStdin ? 'stdin' : 'script', unseen, interactive });
}

/** A category with a dot in it is a module that is loaded. */
const harmlessWarning = /^[a-zA-Z]+(:\w*){0,4}$/;
const harmlessExtra =
  /^(dev|utf8(=[01])?|importtime|faulthandler|tracemalloc(=\d+)?|int_max_str_digits=\d+|no_debug_ranges)$/;

function startOfPython(args: readonly string[]): Start {
  let unseen = false;
  let interactive = false;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    const next = args[index + 1];
    if (arg === '-' || arg === '/dev/stdin') return start({ from: 'stdin', unseen, interactive });
    if (arg === '--') return start({ from: next === undefined ? 'stdin' : 'script', unseen, interactive });
    if (!arg.startsWith('-')) return start({ from: 'script', unseen, interactive });
    if (/^--(version|help(-\w+)?)$/.test(arg)) return start({ from: 'nothing' });
    if (arg.startsWith('--')) {
      unseen = true;
      if (arg === '--check-hash-based-pycs') index += 1;
      continue;
    }
    for (let at = 1; at < arg.length; at += 1) {
      const letter = arg.charAt(at);
      const glued = arg.slice(at + 1);
      if (letter === 'c' || letter === 'm') {
        const rest = args.slice(glued === '' ? index + 2 : index + 1);
        const text = glued === '' ? (next ?? hole) : glued;
        return start({ from: letter === 'c' ? 'code' : 'module', text, rest, unseen, interactive });
      }
      if (letter === 'V' || letter === 'h' || letter === '?') return start({ from: 'nothing' });
      if (letter === 'W' || letter === 'X') {
        if (!(letter === 'W' ? harmlessWarning : harmlessExtra).test(glued || (next ?? ''))) unseen = true;
        if (glued === '') index += 1;
        break;
      }
      if (letter === 'i') interactive = true;
      else if (!/[BbdOqRsSuvPI]/.test(letter)) unseen = true;
    }
  }
  return start({ from: 'stdin', unseen, interactive });
}

const harmlessOfNode =
  /^--(input-type|max[-_]old[-_]space[-_]size|stack[-_]trace[-_]limit|unhandled-rejections)(=[\w-]*)?$|^--(no-warnings|no-deprecation|trace-warnings|trace-uncaught|trace-deprecation|throw-deprecation|enable-source-maps|use-strict)$/;
/** Options of which the next word is a value, unless it is glued to them. */
const valuedOfNode =
  /^(-r|-C|--(require|import|loader|experimental-loader|conditions|env-file|input-type|unhandled-rejections))$/;

/** Node takes options behind its code as well, and of several codes the last. */
function startOfNode(args: readonly string[]): Start {
  const codes: string[] = [];
  let unseen = false;
  let interactive = false;
  let index = 0;
  let script = false;
  for (; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    const next = args[index + 1];
    if (arg === '-') break;
    if (arg === '--') {
      script = next !== undefined;
      break;
    }
    if (!arg.startsWith('-')) {
      script = arg !== '/dev/stdin';
      // It may be the value of the option that is not known.
      if (unseen && codes.length === 0) continue;
      break;
    }
    if (codes.length === 0 && !unseen && /^(-v|--version|-h|--help)$/.test(arg))
      return start({ from: 'nothing' });
    if (codeOption('javascript', arg)) {
      // -p -e '…': the code is that of the second.
      if (next?.startsWith('-')) continue;
      codes.push(next ?? hole);
      index += 1;
    } else if (arg.startsWith('--eval=')) codes.push(arg.slice('--eval='.length));
    else if (arg === '-i' || arg === '--interactive') interactive = true;
    else {
      if (!harmlessOfNode.test(arg)) unseen = true;
      if (valuedOfNode.test(arg)) index += 1;
    }
  }
  if (codes.length > 0)
    return start({
      from: 'code',
      text: codes.join('\n;\n'),
      rest: args.slice(index),
      unseen,
      interactive,
    });
  return start({ from: script ? 'script' : 'stdin', unseen, interactive });
}
