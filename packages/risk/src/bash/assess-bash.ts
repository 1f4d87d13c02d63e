import { assessSetting, assessUnsetting } from '../commands/environment.js';
import { runCommand } from '../commands/run-command.js';
import { outputOf, plainText, unknownStream, type Stream } from '../commands/stream.js';
import { touchPath } from '../commands/touch-path.js';
import { languageOf } from '../commands/interpreters.js';
import { effects, isKnownCommand, prefixes } from '../commands/known-commands.js';
import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import { combinations } from '../values/choices.js';
import { childOf, childrenOf, namedChildren, textOf, type SyntaxNode } from '../syntax/node.js';
import { unquoted } from './assignments.js';
import { bracedWord } from './braces.js';
import { interpreterOf, ScriptFiles } from './script-files.js';
import { assessSubscripts } from './subscripts.js';
import { substitutedPath, Words } from './words.js';

/** How deep calls of the script's own functions are followed with their arguments. */
const maxCalls = 6;

/** Follows a script command by command; both sides of every branch count. */
export function assessBash(piece: Piece): void {
  new Script(piece).run(piece.tree.root, piece.given?.stdin);
}

interface Redirected {
  readonly redirect: SyntaxNode;
  readonly body: SyntaxNode | undefined;
  readonly input: Stream | undefined;
}

const ownFolder = /^dirname\s+(--\s+)?"?\$(0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(\[0\])?\})"?$/;

const setters = new Set(
  'read mapfile readarray getopts eval source . declare typeset local export readonly set shift trap alias'.split(
    ' ',
  ),
);

type Inputs = readonly (Stream | undefined)[];

/** The only text that is read; which of several it is, is not known. */
function onlyOf(inputs: Inputs): Stream | undefined {
  return inputs.length === 1 ? inputs[0] : unknownStream;
}

/** The words of a command in each way to take one list of words of each of its words. */
function ways(lists: readonly (readonly (readonly string[])[])[]): readonly (readonly string[])[] {
  const words: string[] = [];
  for (const list of lists) {
    const [first] = list;
    if (first === undefined || list.length > 1) return combinations(lists, [hole]).map((way) => way.flat());
    words.push(...first);
  }
  return [words];
}

class Script {
  readonly #piece: Piece;
  readonly #words: Words;
  readonly #functions = new Map<string, SyntaxNode>();
  readonly #files = new ScriptFiles();
  /** Calls that were followed already; the same call again tells nothing new. */
  #called = new Set<string>();
  #calls = 0;

  constructor(piece: Piece) {
    this.#piece = piece;
    this.#words = new Words(piece, (node) => this.#outputOf(node));
    this.#collect(piece.tree.root);
    for (const { at, texts } of this.#words.settings())
      for (const text of texts) assessSetting(piece, text, at);
    assessSubscripts(piece);
  }

  /** Names first: functions and variables are used before and after they are set. Tells of substitutions inside. */
  #collect(node: SyntaxNode): boolean {
    if (node.type === 'function_definition') {
      const name = childOf(node, 'name');
      if (name) this.#functions.set(textOf(this.#piece.tree, name), node);
    } else if (node.type === 'expansion' && this.#piece.tree.text.startsWith('@P}', node.end - 3)) {
      // What the variable holds is expanded as a prompt is, substitutions and all.
      this.#piece.add('code.smuggled', node);
    }
    this.#words.collect(node);
    let substitutes = node.type === 'command_substitution' || node.type === 'process_substitution';
    for (const child of node.children)
      if (child.children.length > 0 && this.#collect(child)) substitutes = true;
    if (substitutes) this.#words.substitutes(node);
    return substitutes;
  }

  run(node: SyntaxNode, stdin: Stream | undefined): void {
    if (!this.#piece.spend()) return;
    switch (node.type) {
      case 'command':
        this.#runCommand(node, [stdin], []);
        return;
      case 'redirected_statement':
        this.#runRedirected(node, stdin);
        return;
      case 'pipeline':
        this.#runPipeline(node, stdin);
        return;
      case 'function_definition':
        this.#runFunction(node);
        return;
      case 'subshell':
        this.#apart(() => {
          for (const child of namedChildren(node)) this.run(child, stdin);
        });
        return;
      case 'ERROR':
      case 'compound_statement':
        for (const child of node.children) {
          const words = bracedWord(this.#piece.tree, child);
          if (words) this.#runWords(words, node, stdin);
        }
        break;
      case 'declaration_command':
      case 'unset_command':
        for (const child of node.children)
          if (child.named && child.type !== 'variable_assignment')
            for (const name of this.#words.split(child))
              if (!name.includes('=')) assessUnsetting(this.#piece, name, node);
        this.#runSubstitutions(node);
        return;
      case 'variable_assignment':
        this.#runSubstitutions(node);
        return;
      default:
    }
    for (const child of node.children) if (child.named) this.run(child, stdin);
  }

  /** A function is looked at by itself, with arguments that nobody knows, and again at each call. */
  #runFunction(node: SyntaxNode): void {
    const name = childOf(node, 'name');
    const body = childOf(node, 'body');
    if (!name || !body) return;
    if (this.#isBomb(textOf(this.#piece.tree, name), body)) this.#piece.add('process.bomb', node);
    const goes = this.#apart(() => this.#words.within(undefined, () => this.run(body, undefined)));
    if (goes) this.#files.movers.add(textOf(this.#piece.tree, name));
  }

  #runSubstitutions(node: SyntaxNode): void {
    this.#words.runSubstitutions(node, (inner) => this.#apart(() => this.run(inner, undefined)));
  }

  /** Runs what does not take the script along to where it goes; says whether it goes anywhere. */
  #apart(run: () => void): boolean {
    const { whereabouts } = this.#files;
    const called = new Set(this.#called);
    run();
    if (this.#files.whereabouts === whereabouts) return false;
    this.#files.whereabouts = whereabouts;
    // The same call takes it along elsewhere. Inside of calls that would be followed again and again.
    if (this.#calls === 0) this.#called = called;
    return true;
  }

  #isBomb(name: string, node: SyntaxNode): boolean {
    const calls = (at: SyntaxNode): boolean =>
      at.type === 'command_name' ? textOf(this.#piece.tree, at) === name : at.children.some(calls);
    const spawns = (at: SyntaxNode): boolean =>
      (at.type === 'pipeline' && calls(at)) ||
      at.children.some(
        (child, index) => (child.type === '&' && calls(at.children[index - 1] ?? child)) || spawns(child),
      );
    return spawns(node);
  }

  #runPipeline(node: SyntaxNode, stdin: Stream | undefined): void {
    let stream = stdin;
    for (const part of namedChildren(node)) {
      this.run(part, stream);
      stream = this.#outputOf(part, stream);
    }
  }

  #runRedirected(node: SyntaxNode, stdin: Stream | undefined): void {
    const body = childOf(node, 'body');
    // The grammar puts what follows a heredoc's mark on its line into the heredoc.
    const outer = childrenOf(node, 'redirect');
    const redirects = [...outer, ...outer.flatMap((redirect) => childrenOf(redirect, 'redirect'))];
    const inputs = this.#inputs(redirects, [stdin]);
    const input = onlyOf(inputs);
    for (const redirect of redirects) this.#runRedirect(redirect, body, input);
    const late = redirects.flatMap((redirect) => childrenOf(redirect, 'argument'));
    if (body?.type === 'command') this.#runCommand(body, inputs, late);
    else if (body) this.run(body, input);
    for (const redirect of redirects) {
      for (const child of redirect.children) {
        if (child.type === 'pipeline') this.#runLatePipeline(child, body, input);
        else if (
          redirect.type === 'heredoc_redirect' &&
          child.named &&
          /command|list|statement/.test(child.type)
        )
          this.run(child, undefined);
      }
    }
  }

  /** `cat <<EOF | sh`: the grammar puts the rest of the pipeline into the redirect. */
  #runLatePipeline(node: SyntaxNode, body: SyntaxNode | undefined, input: Stream | undefined): void {
    let stream = body ? this.#outputOf(body, input) : unknownStream;
    for (const part of namedChildren(node)) {
      this.run(part, stream);
      stream = this.#outputOf(part, stream);
    }
  }

  /** What a command reads: the last redirect decides. */
  #inputs(redirects: readonly SyntaxNode[], stdin: Inputs): Inputs {
    return redirects.reduce((found, redirect) => this.#input(redirect) ?? found, stdin);
  }

  /** Each text that it can be. */
  #input(redirect: SyntaxNode): readonly Stream[] | undefined {
    if (redirect.type === 'heredoc_redirect') {
      const body = redirect.children.find((child) => child.type === 'heredoc_body');
      const start = redirect.children.find((child) => child.type === 'heredoc_start');
      if (!body) return [plainText('')];
      const quoted = start ? /['"\\]/.test(textOf(this.#piece.tree, start)) : false;
      return (quoted ? [textOf(this.#piece.tree, body)] : this.#words.expand(body)).map(plainText);
    }
    if (redirect.type === 'herestring_redirect') {
      const [word] = namedChildren(redirect);
      return (word ? this.#words.expand(word) : [hole]).map(plainText);
    }
    if (redirect.type === 'file_redirect' && redirect.children.some((child) => child.type === '<')) {
      const target = childOf(redirect, 'destination');
      return [target?.type === 'process_substitution' ? this.#outputOf(target) : unknownStream];
    }
    return undefined;
  }

  #runRedirect(redirect: SyntaxNode, body: SyntaxNode | undefined, input: Stream | undefined): void {
    this.#runSubstitutions(redirect);
    if (redirect.type !== 'file_redirect') return;
    const target = childOf(redirect, 'destination');
    const operator = redirect.children.find((child) => /[<>]/.test(child.type))?.type ?? '>';
    if (!target || target.type === 'process_substitution') return;
    for (const path of this.#words.expand(target)) this.#redirect(path, operator, { redirect, body, input });
  }

  #redirect(path: string, operator: string, { redirect, body, input }: Redirected): void {
    if (operator.endsWith('&') && /^(\d+|-)$/.test(path)) return;
    if (/^\/dev\/(tcp|udp)\//.test(path)) {
      this.#piece.fact('network');
      this.#piece.fact('socket');
      const programs = body?.type === 'command' ? this.#argvs(body, []) : [];
      const isShell = programs.some(([name = '']) => languageOf(name));
      this.#piece.add(isShell ? 'network.shell' : 'network.backdoor', redirect);
      return;
    }
    const piece = this.#files.inFolder(this.#piece);
    touchPath(piece, operator === '<' ? 'read' : 'write', path, redirect);
    if (operator !== '<' && body) this.#files.write(path, this.#outputOf(body, input), operator === '>>');
  }

  /** Of each word of a command the words that it becomes, in each way that it can. */
  #lists(node: SyntaxNode, late: readonly SyntaxNode[]): readonly (readonly (readonly string[])[])[] {
    const lists = [];
    for (const word of node.children) {
      // The dollar of $"…" is a word of its own to the grammar.
      if ((word.field !== 'name' && word.field !== 'argument') || word.type === '$') continue;
      lists.push(this.#words.alternatives(word.type === 'command_name' ? (word.children[0] ?? word) : word));
    }
    for (const word of late) lists.push(this.#words.alternatives(word));
    return lists;
  }

  /** The words of a command, in each way that its variables make it. */
  #argvs(node: SyntaxNode, late: readonly SyntaxNode[]): readonly (readonly string[])[] {
    return ways(this.#lists(node, late));
  }

  /** Programs that do the same to each of their words are looked at once, with all of them. */
  #commands(node: SyntaxNode, late: readonly SyntaxNode[]): readonly (readonly string[])[] {
    const lists = this.#lists(node, late);
    const [[[name = ''] = [], ...others] = []] = lists;
    const isPlain = effects.has(name) && !prefixes.has(name) && !this.#functions.has(name);
    if (!isPlain || others.length > 0 || !lists.some(({ length }) => length > 1)) return ways(lists);
    return [lists.flatMap((list) => (list.length > 1 ? [...new Set(list.flat())] : list.flat()))];
  }

  #runCommand(node: SyntaxNode, stdin: Inputs, late: readonly SyntaxNode[]): void {
    this.#runSubstitutions(node);
    const redirects = childrenOf(node, 'redirect');
    const inputs = this.#inputs(redirects, stdin);
    for (const redirect of redirects) this.#runRedirect(redirect, node, onlyOf(inputs));
    const argvs = this.#commands(node, late);
    const script = this.#substitutedScript(node, argvs);
    if (script) this.#runWords(script.words, node, script.stream);
    else for (const words of argvs) for (const input of inputs) this.#runWords(words, node, input);
  }

  /** `bash <(…)` and `source <(…)` run what the inner command prints. */
  #substitutedScript(
    node: SyntaxNode,
    [[name = '', ...args] = []]: readonly (readonly string[])[],
  ): { words: readonly string[]; stream: Stream } | undefined {
    const inner = node.children.find((child) => child.type === 'process_substitution');
    if (!inner) return undefined;
    const words = interpreterOf(name, args, (arg) => arg === substitutedPath);
    return words && { words, stream: this.#outputOf(inner) };
  }

  #runWords(words: readonly string[], node: SyntaxNode, stdin: Stream | undefined): void {
    const [name = '', ...args] = words;
    const called = this.#functions.get(name);
    if (called) {
      const key = JSON.stringify([words, stdin]);
      if (this.#called.has(key)) {
        if (this.#files.movers.has(name)) this.#files.go(hole);
        return;
      }
      this.#called.add(key);
      this.#callFunction(called, args, stdin);
      // It may not be defined yet, or no longer.
      if (!isKnownCommand(name)) return;
    }
    if (this.#setsUnseen(words, node)) this.#piece.add('name.hidden', node);
    const script = this.#files.scriptIn(words);
    const input = script?.stream ?? stdin;
    const piece = this.#files.inFolder(this.#piece);
    runCommand(piece, { words: script?.words ?? words, at: node, ...(input && { stdin: input }) });
    this.#files.note(name, args);
  }

  /** What sets variables was taken note of by its name, which must stand there. */
  #setsUnseen([name = '', ...args]: readonly string[], node: SyntaxNode): boolean {
    if (name === 'command' || name === 'builtin')
      return this.#setsUnseen(args.slice(args.findIndex((arg) => !arg.startsWith('-'))), node);
    const sets = setters.has(name) || (name === 'printf' && args[0]?.startsWith('-v') === true);
    return sets && !node.children.some((child) => unquoted(textOf(this.#piece.tree, child)) === name);
  }

  #callFunction(definition: SyntaxNode, args: readonly string[], stdin: Stream | undefined): void {
    const body = childOf(definition, 'body');
    if (!body) return;
    if (this.#calls >= maxCalls) {
      this.#piece.add('cannot-tell.too-complex', definition);
      return;
    }
    this.#calls += 1;
    this.#words.within(args, () => this.run(body, stdin));
    this.#calls -= 1;
  }

  /** `dirname "$0"`, unless the script is a text that was handed over with a name of its own. */
  #printsOwnFolder(node: SyntaxNode): boolean {
    return (
      ownFolder.test(textOf(this.#piece.tree, node)) &&
      !this.#functions.has('dirname') &&
      !this.#words.sets('BASH_ARGV0', 'BASH_SOURCE') &&
      this.#piece.given?.args === undefined
    );
  }

  #outputOf(node: SyntaxNode, stdin?: Stream): Stream {
    switch (node.type) {
      case 'command': {
        if (this.#printsOwnFolder(node)) return plainText('.');
        const input = onlyOf(this.#inputs(childrenOf(node, 'redirect'), [stdin]));
        const streams = this.#argvs(node, []).map(([name = '', ...args]) =>
          outputOf(name.split('/').at(-1) ?? '', args, input),
        );
        const [only = unknownStream] = streams;
        if (streams.length === 1) return only;
        return streams.find(({ kind }) => kind === 'download') ?? unknownStream;
      }
      case 'pipeline':
        return (
          namedChildren(node).reduce<Stream | undefined>(
            (stream, part) => this.#outputOf(part, stream),
            stdin,
          ) ?? unknownStream
        );
      case 'redirected_statement': {
        const body = childOf(node, 'body');
        const input = onlyOf(this.#inputs(childrenOf(node, 'redirect'), [stdin]));
        return body ? this.#outputOf(body, input) : unknownStream;
      }
      case 'command_substitution':
      case 'process_substitution':
      case 'subshell':
      case 'program': {
        const parts = namedChildren(node);
        const [only] = parts;
        if (only && parts.length === 1) return this.#outputOf(only, stdin);
        const streams = parts.map((part) => this.#outputOf(part, stdin));
        return streams.find(({ kind }) => kind === 'download') ?? unknownStream;
      }
      default:
        return unknownStream;
    }
  }
}
