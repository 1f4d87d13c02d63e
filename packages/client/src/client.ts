import { Audit } from './audit.js';
import { Code } from './code.js';
import { Connection, type ConnectionOptions } from './connection.js';
import { Execs } from './execs.js';
import { LayeredSkills } from './layered-skills.js';
import { Skills } from './skills.js';

/** A Secbox server, as the holder of one key sees it. */
export class SecboxClient {
  readonly execs: Execs;
  readonly skills: Skills;
  readonly code: Code;
  readonly audit: Audit;
  readonly #connection: Connection;

  constructor(options: ConnectionOptions) {
    this.#connection = new Connection(options);
    this.execs = new Execs(this.#connection);
    this.skills = new Skills(this.#connection, this.execs);
    this.code = new Code(this.#connection, this.execs);
    this.audit = new Audit(this.#connection, this.execs);
  }

  /** Skills as files, and the general sandbox, of one user with one agent. */
  layers(userId: string, agentId: string): LayeredSkills {
    return new LayeredSkills(this.#connection, this.execs, userId, agentId);
  }

  /** How the server, its engine and its disk are; also of one that is not well. */
  health({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<
    Readonly<Record<string, unknown>>
  > {
    return this.#connection.json('/sandbox/health', { signal, accepted: [503] });
  }
}
