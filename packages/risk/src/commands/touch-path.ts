import type { Piece } from '../piece.js';
import { below, hole, isVital, placeOf } from '../place.js';
import type { Spot } from '../report.js';

export type Touch = 'read' | 'write' | 'delete' | 'delete-tree';

/** What it means that code reads, changes or deletes what lies at a path. Parts of it may be holes. */
export function touchPath(piece: Piece, touch: Touch, named: string, at: Spot): void {
  const path = below(piece.folder, named);
  const place = placeOf(path);
  if (place === 'host') {
    piece.add('files.host', at);
    return;
  }
  if (place === 'credential') {
    piece.fact('credential');
    piece.add('files.read-credential', at);
  }
  if (touch === 'read') {
    if (place === 'device') piece.add('files.destroy', at);
    else if (place === 'unknown') piece.add('files.read-unknown', at);
    else if (place === 'outside' || place === 'startup' || place === 'system' || place === 'root-or-home') {
      piece.add('files.read-outside', at);
    }
    return;
  }
  if (place === 'harmless-device') return;
  if (place === 'device') piece.add('files.destroy', at);
  else if (touch === 'write') piece.add(writeRule(place), at);
  else if (isVital(path)) {
    piece.add(touch === 'delete-tree' || path.includes('*') ? 'files.destroy' : 'files.delete-outside', at);
  } else if (place === 'unknown' || (place === 'own' && climbs(path))) {
    piece.add(touch === 'delete-tree' ? 'files.delete-tree-unknown' : 'files.delete-unknown', at);
  } else if (place === 'own') piece.add(touch === 'delete-tree' ? 'files.delete-tree' : 'files.delete', at);
  else piece.add('files.delete-outside', at);
}

/** A hole behind a known folder can hold `..`; only for whole trees is that taken amiss. */
function climbs(path: string): boolean {
  return path === hole;
}

function writeRule(place: ReturnType<typeof placeOf>) {
  switch (place) {
    case 'own':
      return 'files.write';
    case 'unknown':
      return 'files.write-unknown';
    case 'startup':
      return 'files.persistence';
    case 'outside':
    case 'system':
    case 'root-or-home':
    case 'credential':
    case 'host':
    case 'device':
    case 'harmless-device':
      return 'files.write-outside';
  }
}

export function readPaths(piece: Piece, paths: readonly string[], at: Spot): void {
  for (const path of paths) touchPath(piece, 'read', path, at);
}
