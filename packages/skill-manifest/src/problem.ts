/** One thing that is wrong with a skill's folder, and where. */
export interface SkillProblem {
  /** By its path in the folder. */
  readonly file: string;
  /** In a JSON file; empty for the whole of it, and for files of other kinds. */
  readonly pointer: string;
  /** From 1; null where the problem is not a place in a text. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
  readonly found?: string;
  readonly expected?: string;
  /** The nearest right spelling. */
  readonly suggestion?: string;
}

const mostShown = 80;

/** What stands in a place, short enough for a line. It may have megabytes: no more of it is looked at than is shown. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(beginningOf(value, { left: mostShown + 1 }));
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text;
}

/** Every value and every character has at least one in the text. */
function beginningOf(value: unknown, room: { left: number }): unknown {
  room.left -= 1;
  if (typeof value === 'string') {
    const text = value.slice(0, mostShown + 1);
    room.left -= text.length;
    return text;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    while (room.left > 0 && items.length < value.length) items.push(beginningOf(value[items.length], room));
    return items;
  }
  const taken: Record<string, unknown> = {};
  for (const key in value) {
    if (room.left <= 0) break;
    room.left -= key.length;
    taken[key.slice(0, mostShown + 1)] = beginningOf((value as Record<string, unknown>)[key], room);
  }
  return taken;
}

export function pointerOf(path: readonly (string | number)[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

export function pathOf(pointer: string, decode: (key: string) => string = (key) => key): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => decode(key).replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** A problem of a folder or file as a whole. */
export function fileProblem(file: string, message: string): SkillProblem {
  return { file, pointer: '', line: null, column: null, message };
}
