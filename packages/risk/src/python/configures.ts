import { touchPath } from '../commands/touch-path.js';
import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import type { SyntaxNode } from '../syntax/node.js';
import type { Value } from '../values/value.js';

const ownClasses =
  /^logging\.(\w*Formatter|(Stream|File|Null)Handler|handlers\.(Timed)?RotatingFileHandler)$/;
const ownStreams = /^ext:\/\/sys\.std(out|err)$/;

/** Whether a configuration of logging names nothing but what logging has; other classes and factories it would call. */
export function configures(piece: Piece, value: Value, node: SyntaxNode, key = ''): boolean {
  switch (value.kind) {
    case 'number':
      return true;
    case 'list':
      return value.items.every((item) => configures(piece, item, node));
    case 'text':
      if (key === 'filename') touchPath(piece, 'write', value.text, node);
      if (key === '()' || value.text.includes(hole)) return false;
      if (key === 'class') return ownClasses.test(value.text);
      return !/^(ext|cfg):/.test(value.text) || ownStreams.test(value.text);
    case 'table':
      return (
        !value.from &&
        [...value.entries].every(
          ([name, values]) =>
            !name.includes(hole) && values.every((one) => configures(piece, one, node, name)),
        )
      );
    case 'reference':
    case 'unknown':
      return false;
  }
}
