import { hole } from '../place.js';
import { told } from '../values/choices.js';
import { tableOf } from '../values/collect.js';
import { literal, reference, unknown, type Reference, type Value } from '../values/value.js';
import type { Arguments } from './arguments.js';
import { canonical } from './canonical.js';
import { foldCall, foldMethod, namesOf } from './fold-calls.js';
import { indexed, keyOf } from './operators.js';

interface Lookup {
  named(name: string, hidden: boolean): readonly Value[];
  member(object: Value, name: string, hidden: boolean): Value;
  /** Counts work done. */
  spend(): boolean;
}

/** What an object has under a key, or all that it can be. */
export function entryOf(lookup: Lookup, object: Value, index: Value): readonly Value[] {
  if (object.kind === 'reference') return entryOfReference(lookup, object, index);
  if (object.kind !== 'table') return [indexed(object, index)];
  const key = keyOf(index);
  const known = key.includes(hole) ? undefined : object.entries.get(key);
  const others = known ? (object.entries.get(hole) ?? []) : [...object.entries.values()].flat();
  if (known && others.length === 0 && !object.from) return known;
  const spread = (object.from ?? []).flatMap((one) => entryOf(lookup, one, index));
  return told([...(known ?? []), ...others, ...spread]);
}

/** os.environ["HOME"], sys.modules["os"], vars(os)["system"] and globals()["eval"]. */
function entryOfReference(lookup: Lookup, object: Reference, index: Value): readonly Value[] {
  const key = index.kind === 'text' && !index.text.includes(hole) ? index.text : undefined;
  if (object.path === '<names>')
    return key === undefined ? [reference('<names>.?', true)] : lookup.named(key, true);
  if (object.path.endsWith('.__dict__')) {
    return [
      key === undefined
        ? reference('<names>.?', true, reference(object.path.slice(0, -9)))
        : lookup.member(reference(object.path.slice(0, -9)), key, true),
    ];
  }
  if (object.path === 'sys.modules')
    return [key === undefined ? reference('sys.modules', true) : reference(canonical(key), true)];
  if (object.path === 'os.environ' && key === 'HOME') return [literal('~')];
  return [reference(`${object.path}[]`, object.hidden, object.subject)];
}

/** What a call of a value gives back. */
export function resultOf(lookup: Lookup, target: Value, given: Arguments): readonly Value[] {
  if (target.kind !== 'reference') return [unknown];
  const [first = unknown] = given.positional;
  if (target.path === 'builtins.globals' || target.path === 'builtins.locals') return [reference('<names>')];
  if (target.path === 'builtins.dict') {
    const entries = new Map(Array.from(given.named, ([name, value]) => [name, [value]] as const));
    return [tableOf(entries, given.positional, () => lookup.spend())];
  }
  if (target.path === 'builtins.vars') return [namesOf(given.positional[0])];
  if (
    target.path === '<names>.get' ||
    target.path === '<names>.__getitem__' ||
    /\.__dict__\.(get|__getitem__|pop)$/.test(target.path)
  ) {
    const of = reference(target.path.slice(0, target.path.lastIndexOf('.')));
    return entryOfReference(lookup, of, first);
  }
  if (target.path === 'operator.attrgetter()') {
    const name = target.subject?.kind === 'text' ? target.subject.text : undefined;
    return [name === undefined ? reference('<names>.?', true, first) : lookup.member(first, name, true)];
  }
  if (target.path === 'operator.itemgetter()') return entryOf(lookup, first, target.subject ?? unknown);
  if (target.subject?.kind === 'table' && /^\?\.(get|pop|setdefault|__getitem__)$/.test(target.path))
    return [...entryOf(lookup, target.subject, first), ...given.positional.slice(1)];
  if (target.subject && target.path.startsWith('?.'))
    return [foldMethod(target.path.slice(2), target.subject, given)];
  return [foldCall(target, given, (object, name, hidden) => lookup.member(object, name, hidden))];
}
