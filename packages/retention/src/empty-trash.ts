import type { RetentionParts } from './retention-parts.js';
import { nothing, type Step } from './step.js';

/** A tree of any size is removed in pieces of this. */
const pieceMs = 2000;

/** Removes what was taken out of its place, by whomever. */
export async function* emptyTrash({ workspace, logger }: RetentionParts): AsyncGenerator<Step> {
  const failed = new Set<string>();
  for (let again = true; again;) {
    again = false;
    for await (const entry of workspace.trash.left()) {
      if (failed.has(entry)) {
        workspace.trash.leave(entry);
        continue;
      }
      const tally = { files: 0, bytes: 0 };
      try {
        const done = await workspace.trash.empty(entry, tally, AbortSignal.timeout(pieceMs));
        again ||= !done;
      } catch (error) {
        // What cannot be removed now keeps nothing else waiting.
        failed.add(entry);
        logger.warn('retention.not_removed', { entry, error });
      }
      yield { ...nothing, ...tally };
    }
  }
}
