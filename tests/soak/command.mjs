import { loadCommand } from '../load-command.mjs';

const HELP = `Usage: npm run soak -- [--execs N] [--seed S]

Sends execs of every kind to a server of its own, 8 at a time: such that succeed,
fail, die of signals, run out of time or memory, are cancelled, print megabytes,
leave artifacts, are sent twice, watched, or abandoned. Every answer must be
right, and at the end no container, spool or descriptor may be left.

  --execs N   how many (500)
  --seed S    which ones: the same seed is the same execs (a new one each time)
`;

await loadCommand({
  help: HELP,
  suite: 'tests/soak/soak.docker.test.ts',
  size: { option: 'execs', usual: 500 },
  variables: 'SOAK',
});
