import { readFileSync } from 'node:fs';
import { env } from 'node:process';
import { PassThrough } from 'node:stream';
import { DockerodeEngine, defaultDockerHost, parseDockerHost } from '@secbox/container-engine';
import { createLogger } from '@secbox/logging';
import { KnownImage } from '../known-image.js';
import { DockerExecutor } from './docker-executor.js';
import { describeExecutor } from './executor.contract.js';
import { SubprocessExecutor } from './subprocess-executor.js';

const seccompProfile = readFileSync(new URL('../../../../docker/seccomp.json', import.meta.url), 'utf8');
const engine = new DockerodeEngine(parseDockerHost(env['DOCKER_HOST'] ?? defaultDockerHost), {
  seccompProfile,
});
const logger = createLogger({ level: 'error', format: 'json', destination: new PassThrough().resume() });
const known = new KnownImage(engine, 'secbox/sandbox:latest');
const image = () => known.find();
const disk = { maxFileBytes: () => 64 * 1024 ** 2 };
/** No container waits. */
const warm = {
  take: () => Promise.resolve(undefined),
  giveBack: () => Promise.resolve(),
  discard: () => Promise.resolve(),
  release: () => Promise.resolve(),
};

describeExecutor('docker', {
  image,
  open: ({ dataDir }) => Promise.resolve(new DockerExecutor({ engine, warm, dataDir, logger, disk })),
});

describeExecutor('subprocess', {
  image,
  open: async ({ workspace, dataDir }) => {
    const program = env['SECBOX_SUBPROCESS_PROGRAM'];
    if (program === undefined)
      throw new Error('SECBOX_SUBPROCESS_PROGRAM is not set; run the tests with npm test.');
    const executor = new SubprocessExecutor({ program, workspace, dataDir, disk, logger });
    await executor.begin();
    const report = executor.report();
    if (!report.available) throw new Error(report.why);
    return executor;
  },
});
