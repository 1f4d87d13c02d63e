import { loadCommand } from '../load-command.mjs';

const HELP = `Usage: npm run soak:layers -- [--seconds N] [--seed S]

64 people read, list, edit, sync and execute one skill of one agent, on a server
of its own, while its author publishes a new version every second. Nothing may
fail but with the documented 409 and 429, nobody may see half of a version or
lose an edit, and at the end nothing may be mounted or under way; each must have
been done, once in 4 seconds on average, and a version published once in 8.

  --seconds N   for how long (60)
  --seed S      who does what: the same seed is the same (a new one each time)
`;

await loadCommand({
  help: HELP,
  suite: 'tests/soak/layers.docker.test.ts',
  size: { option: 'seconds', usual: 60 },
  variables: 'SOAK_LAYERS',
});
