import type { SecboxClient } from '@secbox/client';
import type { Terminal } from './terminal.js';

/** What a command finds around itself. */
export interface Surroundings {
  readonly terminal: Terminal;
  /** Aborted when whoever typed it wants it to stop. */
  readonly stopped: AbortSignal;
  readonly cwd: string;
  /** The repository that this program is of. */
  readonly root: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The server that the options and the environment name. */
  readonly connect: (options: ServerChoice) => SecboxClient;
}

export interface ServerChoice {
  readonly url: string | undefined;
  readonly keyFile: string | undefined;
}
