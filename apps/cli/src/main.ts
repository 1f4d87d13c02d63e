import { fileURLToPath } from 'node:url';
import { connectTo } from './server.js';
import { secbox } from './secbox.js';
import type { Surroundings } from './surroundings.js';
import { Terminal } from './terminal.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const { env } = process;

// Whoever reads has seen enough: `secbox audit list | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const stopping = new AbortController();
const stop = () => {
  // Who asks twice does not want to wait.
  if (stopping.signal.aborted) process.exit(130);
  stopping.abort();
};
process.on('SIGINT', stop).on('SIGTERM', stop);

const place = { environment: env, root, cwd: process.cwd() };
const surroundings: Surroundings = {
  ...place,
  terminal: new Terminal({
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    plain: (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb',
  }),
  stopped: stopping.signal,
  connect: (choice) => connectTo(choice, place),
};
process.exitCode = await secbox(process.argv.slice(2), surroundings);
process.off('SIGINT', stop).off('SIGTERM', stop);
