import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliEngine } from './cli-engine.js';
import type { ContainerEngine } from './container-engine.js';
import { DockerodeEngine } from './dockerode-engine.js';

let folder: string;
let server: Server;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-silent-'));
  server = createServer(() => undefined).listen(join(folder, 's'));
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

test('an engine that takes questions and answers none is told as not there', async () => {
  // Nor does the program, which waits for it.
  const program = join(folder, 'docker');
  await writeFile(program, '#!/bin/sh\nexec sleep 250\n');
  await chmod(program, 0o755);
  const engines: readonly ContainerEngine[] = [
    new DockerodeEngine({ socketPath: join(folder, 's') }, { seccompProfile: '{}' }),
    new CliEngine(
      { program, environment: { PATH: '/bin:/usr/bin' } },
      { seccompProfilePath: '/seccomp.json' },
    ),
  ];
  await Promise.all(
    engines.flatMap((engine) =>
      [engine.info(), engine.findImage('i'), engine.listOwned('/data')].map((question) =>
        expect(question).rejects.toMatchObject({ code: 'engine_unavailable' }),
      ),
    ),
  );
}, 30_000);
