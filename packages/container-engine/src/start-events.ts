import type { StartedContainer } from './container-engine.js';
import { purposeOf } from './engine-answers.js';
import { labels } from './hardening.js';

interface EventAnswer {
  readonly time: number;
  readonly Actor?: { readonly ID?: string; readonly Attributes?: Readonly<Record<string, string>> };
}

/** What an engine says of containers that it starts, as JSON line by line, and what of it concerns us. */
export async function* readStarts(
  source: AsyncIterable<Buffer>,
  dataDir: string,
): AsyncGenerator<StartedContainer> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of source) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const started = line.trim() === '' ? undefined : startOf(JSON.parse(line) as EventAnswer, dataDir);
      if (started) yield started;
    }
  }
}

function startOf({ time, Actor }: EventAnswer, dataDir: string): StartedContainer | undefined {
  const attributes = Actor?.Attributes ?? {};
  if (attributes[labels.dataDir] !== dataDir) return undefined;
  return {
    id: Actor?.ID ?? '',
    execId: attributes[labels.execId],
    purpose: purposeOf(attributes[labels.ours]),
    at: new Date(time * 1000),
  };
}
