import { obtainDataImage } from './data-image.mjs';
import { openEngine } from './engine.mjs';
import { Failure, runCommand } from './failure.mjs';
import { obtainImage } from './image.mjs';
import { createProgress } from './progress.mjs';
import { dataFolder } from './settings.mjs';

const HELP = `Usage: npm run image [-- data]

Builds the sandbox image of docker/sandbox anew, on python:3.12-slim where the
engine can pull it, else on a base made of Debian's packages, and names it
secbox/sandbox:latest. With data, builds the image of docker/data on it, with
numpy, pandas and matplotlib, and names that secbox/data:latest.

SECBOX_DEBIAN_MIRROR  where Debian's packages are fetched from (default: mmdebstrap's own)
SECBOX_ENGINE         external: never install or start an engine
SECBOX_DATA_DIR       the data folder (default: data)
`;

await runCommand(async (signal) => {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    process.stdout.write(HELP);
    return 0;
  }
  const [which = 'sandbox', ...rest] = process.argv.slice(2);
  if ((which !== 'sandbox' && which !== 'data') || rest.length > 0) {
    throw new Failure(`There is no image "${[which, ...rest].join(' ')}".`, { remedy: HELP });
  }
  const { env } = process;
  const progress = createProgress({ stream: process.stdout, env });
  try {
    const engineStep = progress.step('engine');
    const engine = await openEngine({ env, dataDir: dataFolder(env), signal, say: engineStep.say });
    engineStep.done(engine.endpoint.host);
    const imageStep = progress.step('image');
    const obtain = which === 'data' ? obtainDataImage : obtainImage;
    const { tag } = await obtain(engine.api, { env, signal, say: imageStep.say, rebuild: true });
    imageStep.done(`built ${tag}`);
    return 0;
  } finally {
    progress.close();
  }
});
