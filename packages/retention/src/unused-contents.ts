import { cutoff, type RetentionParts } from './retention-parts.js';
import { nothing, type Step } from './step.js';

/** Removes contents that have been nobody's input for as long as inputs stay: those that were replaced. */
export async function* removeUnusedContents(parts: RetentionParts): AsyncGenerator<Step> {
  const { workspace } = parts;
  const since = cutoff(parts, 'inputs_days');
  if (!since) return;
  for (const tenant of await workspace.tenants()) {
    const store = workspace.contentsOf(tenant);
    for await (const sha256s of store.unlinkedSince(since)) {
      if (!cutoff(parts, 'inputs_days')) return;
      const tally = { files: 0, bytes: 0 };
      const contents = await store.removeChosen(() => store.stillUnlinked(sha256s, since), tally);
      yield { ...nothing, contents, bytes: tally.bytes };
    }
  }
}
