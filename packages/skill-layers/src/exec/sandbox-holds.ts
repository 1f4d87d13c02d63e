import type { UserPlace } from '../store/layer-paths.js';

/** Whoever has none any more gets another one, which costs them a look at the disk. */
const mostStamps = 10_000;

/** General sandboxes that execs or calls are in: no clean-up takes them away meanwhile. */
export class SandboxHolds {
  readonly #held = new Map<string, number>();
  readonly #execs = new Map<string, number>();
  readonly #stamps = new Map<string, number>();
  #lastStamp = 0;

  /** Gives what lets go of it. */
  hold(user: UserPlace, by: 'exec' | 'call'): () => void {
    const key = keyOf(user);
    const counts = by === 'exec' ? [this.#held, this.#execs] : [this.#held];
    for (const count of counts) count.set(key, (count.get(key) ?? 0) + 1);
    if (by === 'exec') this.#stamps.delete(key);
    let held = true;
    return () => {
      if (held) for (const count of counts) release(count, key);
      held = false;
    };
  }

  isBusy(user: UserPlace): boolean {
    return this.#held.has(keyOf(user));
  }

  /** For when another folder has taken its place. */
  forgetStamp(user: UserPlace): void {
    this.#stamps.delete(keyOf(user));
  }

  /** The same for as long as no exec comes; undefined while one is there. */
  stampOf(user: UserPlace): number | undefined {
    const key = keyOf(user);
    if (this.#execs.has(key)) return undefined;
    const known = this.#stamps.get(key);
    if (known !== undefined) return known;
    if (this.#stamps.size >= mostStamps) this.#stamps.clear();
    this.#lastStamp += 1;
    this.#stamps.set(key, this.#lastStamp);
    return this.#lastStamp;
  }
}

function release(count: Map<string, number>, key: string): void {
  const left = (count.get(key) ?? 1) - 1;
  if (left === 0) count.delete(key);
  else count.set(key, left);
}

/** No id holds a slash. */
function keyOf({ userId, agentId }: UserPlace): string {
  return `${userId}/${agentId}`;
}
