import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { CliFixture, cliOf, dockerHost, engineOf, seccompProfilePath } from './cli-fixture.contract.js';
import type { ContainerEngine } from './container-engine.js';
import { DockerodeEngine } from './dockerode-engine.js';
import { parseDockerHost } from './endpoint.js';

const mebibyte = 1024 ** 2;
const seccompProfile = readFileSync(seccompProfilePath, 'utf8');
const engines: readonly [string, () => ContainerEngine][] = [
  ['dockerode', () => new DockerodeEngine(parseDockerHost(dockerHost), { seccompProfile })],
  ['CLI', () => engineOf(cliOf(dockerHost))],
];
/** Both kinds of control groups, as a program sees them from inside. */
const tellLimits = `
read -r _
cd /sys/fs/cgroup
cat memory.max memory/memory.limit_in_bytes 2>/dev/null
cat pids.max pids/pids.max 2>/dev/null
cat cpu.max cpu/cpu.cfs_quota_us 2>/dev/null | cut -d' ' -f1
`;

let fixture: CliFixture;
beforeEach(async () => {
  fixture = await CliFixture.open();
});
afterEach(() => fixture.close());

describe.each(engines)('through %s, a container that runs', (_, makeEngine) => {
  const before = { memoryBytes: 256 * mebibyte, cpus: 1, pids: 64 };

  async function afterLimits(limits: typeof before): Promise<string[]> {
    const engine = makeEngine();
    const id = await engine.create(await fixture.specOf(['sh', '-c', tellLimits], before));
    const attachment = await engine.attach(id);
    try {
      await engine.start(id);
      await engine.setLimits(id, limits);
      attachment.input.end('\n');
      let text = '';
      for await (const { data } of attachment.output) text += data.toString();
      await engine.wait(id);
      return text.trim().split('\n');
    } finally {
      attachment.close();
      await engine.remove(id);
    }
  }

  test.each([
    ['less', { memoryBytes: 64 * mebibyte, cpus: 0.5, pids: 16 }, '50000'],
    ['more', { memoryBytes: 512 * mebibyte, cpus: 1.5, pids: 128 }, '150000'],
  ])('is given %s, all at once', async (_what, limits, quota) => {
    expect(await afterLimits(limits)).toEqual([String(limits.memoryBytes), String(limits.pids), quota]);
  });

  test('is never given none', async () => {
    await expect(afterLimits({ ...before, pids: 0 })).rejects.toThrow('no limit');
    await expect(afterLimits({ ...before, memoryBytes: NaN })).rejects.toThrow('no limit');
  });
});
