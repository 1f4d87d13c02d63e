import { loadCommand } from '../load-command.mjs';

const HELP = `Usage: npm run chaos -- [--execs N] [--seed S]

Sends execs, 8 at a time, while the server is killed ten times and restarted;
then while the engine is killed three times; then while the disk is filled.
Every exec that was taken on must end with a final row, those that had not
started must run, none may run twice, and nothing may be left.

  --execs N   how many in each of the three (200)
  --seed S    which ones, and when what happens (a new one each time)
`;

await loadCommand({
  help: HELP,
  suite: 'tests/chaos/chaos.docker.test.ts',
  size: { option: 'execs', usual: 200 },
  variables: 'CHAOS',
});
