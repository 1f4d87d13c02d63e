import type { AgentId } from '@secbox/contracts';
import { SharedLock } from '@secbox/workspace';

/** One lock per agent, for as long as somebody wants it: readers together, a writer alone, in the order they came. */
export class AgentLocks {
  readonly #locks = new Map<AgentId, { readonly lock: SharedLock; users: number }>();

  shared<T>(agentId: AgentId, work: () => Promise<T>): Promise<T> {
    return this.#using(agentId, (lock) => lock.shared(work));
  }

  alone<T>(agentId: AgentId, work: () => Promise<T>): Promise<T> {
    return this.#using(agentId, (lock) => lock.alone(work));
  }

  async #using<T>(agentId: AgentId, use: (lock: SharedLock) => Promise<T>): Promise<T> {
    const entry = this.#locks.get(agentId) ?? { lock: new SharedLock(), users: 0 };
    this.#locks.set(agentId, entry);
    entry.users += 1;
    try {
      return await use(entry.lock);
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#locks.delete(agentId);
    }
  }
}
