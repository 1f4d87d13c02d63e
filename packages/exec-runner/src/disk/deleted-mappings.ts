import { createReadStream } from 'node:fs';

/** What may still be read; whoever reads takes it off. */
export interface ReadingBudget {
  lines: number;
  bytes: number;
}

/**
 * The address ranges in a process's list of mappings behind which is a file without a name. A program can make that list
 * hundreds of megabytes long, so it is read as it comes, and no further than the budget goes.
 */
export async function* deletedMappings(maps: string, budget: ReadingBudget): AsyncGenerator<string> {
  if (budget.bytes <= 0 || budget.lines <= 0) return;
  let rest = '';
  // The kernel writes names byte by byte, and a line break in one as \012.
  for await (const chunk of createReadStream(maps, { encoding: 'latin1', end: budget.bytes - 1 })) {
    const text = chunk as string;
    budget.bytes -= text.length;
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (budget.lines <= 0) return;
      budget.lines -= 1;
      const [, from, to] = /^0*([0-9a-f]+)-0*([0-9a-f]+) .* \(deleted\)$/.exec(line) ?? [];
      if (from !== undefined && to !== undefined) yield `${from}-${to}`;
    }
  }
}
