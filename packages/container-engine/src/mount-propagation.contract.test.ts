import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { MountSource } from '@secbox/workspace';
import { CliFixture, cliOf, dockerHost, engineOf, seccompProfilePath } from './cli-fixture.contract.js';
import type { ContainerEngine, MountPropagation } from './container-engine.js';
import { DockerodeEngine } from './dockerode-engine.js';
import { parseDockerHost } from './endpoint.js';

const whereFoldersAreMounted =
  process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;
const seccompProfile = readFileSync(seccompProfilePath, 'utf8');
const engines: readonly [string, () => ContainerEngine][] = [
  ['dockerode', () => new DockerodeEngine(parseDockerHost(dockerHost), { seccompProfile })],
  ['CLI', () => engineOf(cliOf(dockerHost))],
];

let fixture: CliFixture;
let shared: string;
beforeEach(async () => {
  fixture = await CliFixture.open();
  shared = join(fixture.dataDir, 'shared');
  for (const name of ['inputs', 'work', 'artifacts']) await mkdir(join(shared, name), { recursive: true });
  execFileSync('mount', ['--bind', shared, shared]);
  execFileSync('mount', ['--make-private', shared]);
  execFileSync('mount', ['--make-shared', shared]);
});
afterEach(async () => {
  execFileSync('umount', ['--recursive', shared]);
  await fixture.close();
});

whereFoldersAreMounted.each(engines)('through %s, what the host mounts after the start', (_, makeEngine) => {
  async function seenInside(mountPropagation: MountPropagation | undefined): Promise<string> {
    const engine = makeEngine();
    const at = (name: string) => join(shared, name) as MountSource;
    const spec = await fixture.specOf(['sh', '-c', 'echo; read -r _; stat -f -c %T /workspace/work'], {
      mounts: { inputs: at('inputs'), work: at('work'), artifacts: at('artifacts') },
      ...(mountPropagation === undefined ? {} : { mountPropagation }),
    });
    const id = await engine.create(spec);
    const attachment = await engine.attach(id);
    await engine.start(id);
    let text = '';
    for await (const { data } of attachment.output) {
      if (text === '') {
        execFileSync('mount', ['-t', 'tmpfs', 'none', join(shared, 'work')]);
        attachment.input.end('\n');
      }
      text += data.toString();
    }
    await engine.wait(id);
    await engine.remove(id);
    return text.trim();
  }

  test('appears inside where it was asked for', async () => {
    expect(await seenInside('rslave')).toBe('tmpfs');
  });

  test.each([undefined, 'rprivate'] as const)('does not otherwise (%p)', async (propagation) => {
    expect(await seenInside(propagation)).not.toBe('tmpfs');
  });
});
