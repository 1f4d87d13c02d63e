import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { pooled } from '../pool/pooled.js';

let service: KeyedService;
beforeAll(async () => {
  service = await startKeyedService(pooled(0));
  const pack = join(service.dataDir, 'workspace/product/skill-creator');
  await mkdir(pack, { recursive: true });
  await writeFile(join(pack, 'SKILL.md'), '# Creator\n');
  await writeFile(join(pack, 'make.py'), 'open("made", "w").write("x")\nprint("made")\n');
}, 60_000);
afterAll(() => service.close());

test.each(['default', 'other'])(
  'the tool pack is there for users of the tenant %s, and changed by none',
  async (tenant) => {
    const { key } = await service.makeKey(tenant, ['worker', 'author']);
    const at = '/v1/skills/u/agent';
    const data = async (path: string, more: object = {}) =>
      (await service.call(at + path, { key, ...more })).body['data'];
    expect(await data('/list')).toMatchObject([{ id: 'skill-creator', name: 'Creator', layer: 'global' }]);
    expect(await data('/skill-creator/files')).toEqual(['SKILL.md', 'make.py']);
    const execute = '/skill-creator/execute?command=python3';
    expect(await data(execute, { body: ['make.py'] })).toMatchObject({
      stdout: 'made\n',
      exit_code: 0,
      skill_source: 'global',
      effects: { kept: false, added: [{ path: 'made' }] },
    });
    const edit = { method: 'PUT', headers: { 'content-type': 'text/plain' } };
    const readOnly = { code: 'skill_read_only' };
    expect(await data('/skill-creator/edit?path=make.py', edit)).toMatchObject(readOnly);
    expect(await data('/skill-creator/baseline', { method: 'POST' })).toMatchObject(readOnly);
    expect(await data('/skill-creator/files')).toEqual(['SKILL.md', 'make.py']);
    if (tenant === 'other') {
      const product = join(service.dataDir, 'workspace/tenants/other/product');
      expect(await readdir(product)).not.toContain('skill-creator');
    }
  },
);
