import { expect, test } from '@jest/globals';
import Sqlite from 'better-sqlite3';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrations } from '@secbox/migrations';
import { describeApprovalStore } from './approval-store.contract.js';
import { describeAccessStores } from './access-stores.contract.js';
import { describeAuditStore } from './audit-store.contract.js';
import { describeDeliveryStore } from './delivery-store.contract.js';
import { describeExecStore, submissionOf } from './exec-store.contract.js';
import { openDatabase } from './open-database.js';
import { describeRetentionStore } from './retention-store.contract.js';
import { describeSeenExecs } from './seen-execs.contract.js';
import { describeSkillRegistryStore } from './skill-registry-store.contract.js';

async function temporaryFile() {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-database-'));
  const path = join(folder, 'secbox.db');
  return {
    path,
    open: () => openDatabase(path),
    remove: () => rm(folder, { recursive: true }),
  };
}

describeExecStore('SQLite', temporaryFile);
describeAuditStore('SQLite', temporaryFile);
describeSeenExecs('SQLite', temporaryFile);
describeRetentionStore('SQLite', temporaryFile);
describeAccessStores('SQLite', temporaryFile);
describeSkillRegistryStore('SQLite', temporaryFile);
describeApprovalStore('SQLite', temporaryFile);
describeDeliveryStore('SQLite', temporaryFile);

test('SQLite: a second run of the migrations is a no-op', async () => {
  const place = await temporaryFile();
  const inspect = () => {
    const sqlite = new Sqlite(place.path, { readonly: true });
    try {
      return {
        schema: sqlite.prepare('SELECT type, name, sql FROM sqlite_master ORDER BY name').all(),
        migrated: sqlite.prepare('SELECT * FROM kysely_migration ORDER BY name').all(),
        rows: sqlite.prepare('SELECT * FROM sandbox_execs').all(),
      };
    } finally {
      sqlite.close();
    }
  };
  try {
    const first = await place.open();
    await first.execs.insert(submissionOf());
    await first.close();
    const before = inspect();
    expect(before.migrated.map((row) => (row as { name: string }).name)).toEqual(
      Object.keys(migrations).sort(),
    );
    await (await place.open()).close();
    expect(inspect()).toEqual(before);
  } finally {
    await place.remove();
  }
});
