import { touchPath } from '../commands/touch-path.js';
import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import type { SyntaxNode } from '../syntax/node.js';
import type { Value } from '../values/value.js';

const ownClasses =
  /^logging\.(\w*Formatter|(Stream|File|Null)Handler|handlers\.(Timed)?RotatingFileHandler)$/;
const ownStreams = /^ext:\/\/sys\.std(out|err)$/;

/** Whether a configuration of logging names nothing but what logging has; other classes and factories it would call. */
export function configures(piece: Piece, configuration: Value, node: SyntaxNode): boolean {
  let isOwn = true;
  const seen = new Set<Value>();
  const open: (readonly [string, Value])[] = [['', configuration]];
  for (const [key, value] of open) {
    if (value.kind === 'text') {
      if (key === 'filename') touchPath(piece, 'write', value.text, node);
      isOwn &&= isOwnText(key, value.text);
      continue;
    }
    // What stands in several places is looked at once.
    if (seen.has(value)) continue;
    seen.add(value);
    if (value.kind === 'list') for (const item of value.items) open.push(['', item]);
    else if (value.kind === 'table') {
      isOwn &&= !value.from && !value.entries.has(hole);
      for (const [name, values] of value.entries) for (const one of values) open.push([name, one]);
    } else isOwn &&= value.kind === 'number';
  }
  return isOwn;
}

function isOwnText(key: string, text: string): boolean {
  if (key === '()' || text.includes(hole)) return false;
  if (key === 'class') return ownClasses.test(text);
  return !/^(ext|cfg):/.test(text) || ownStreams.test(text);
}
