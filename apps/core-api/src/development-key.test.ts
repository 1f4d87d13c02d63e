import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ApiKeys } from '@secbox/access';
import { defaultTenant } from '@secbox/contracts';
import { openDatabase, type Database } from '@secbox/database';
import { createLogger } from '@secbox/logging';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { developmentKey } from './development-key.js';

let folder: string;
let database: Database;
let keys: ApiKeys;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-dev-key-'));
  database = await openDatabase(join(folder, 'secbox.db'));
  const logger = createLogger({ level: 'error', format: 'json', destination: new PassThrough() });
  keys = new ApiKeys({ records: database.keys, logger, now: () => new Date() });
});
afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const path = () => join(folder, 'dev.key');
const start = (options: { make: boolean; keep: boolean }) => developmentKey(path(), keys, options);
const kept = async () => (await readFile(path(), 'utf8')).trim();

test('it holds as long as its file is there, also where none would be made', async () => {
  await start({ make: true, keep: true });
  const key = await kept();
  expect(await start({ make: false, keep: true })).toBeUndefined();
  expect(await keys.authenticate(key)).toHaveProperty('principal');
  expect(await start({ make: true, keep: true })).toMatchObject({ usable: true });
  expect(await kept()).toBe(key);
});

test('it is revoked where others reach the server, and its file is gone; back at home there is another', async () => {
  await start({ make: true, keep: true });
  const key = await kept();
  const { key: other } = await keys.make(
    { tenant: defaultTenant, roles: ['worker'] },
    { actor: 'npm run key', address: null },
  );
  expect(await start({ make: false, keep: false })).toBeUndefined();
  expect(await keys.authenticate(key)).toMatchObject({ refused: 'revoked' });
  expect(await keys.authenticate(other)).toHaveProperty('principal');
  await expect(kept()).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await start({ make: true, keep: true })).toMatchObject({ usable: true });
  expect(await keys.authenticate(await kept())).toHaveProperty('principal');
});

test.each([true, false])(
  'whoever deletes its file has it revoked by the next start (make: %s)',
  async (make) => {
    await start({ make: true, keep: true });
    const key = await kept();
    await rm(path());
    await start({ make, keep: true });
    expect(await keys.authenticate(key)).toMatchObject({ refused: 'revoked' });
  },
);
