import { expect, test } from '@jest/globals';
import type { ExecRecord } from '@secbox/contracts';
import { openDatabase } from '@secbox/database';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fill } from '../../bench/audit-fill.mjs';

test('rows to be measured have the lists of their files, as those of execs that are over', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-fill-'));
  const file = join(folder, 'secbox.db');
  await (await openDatabase(file)).close();
  fill(file, 100);
  const database = await openDatabase(file);
  const { audit } = database;
  try {
    const { items } = await audit.list('default', {}, { order: 'desc', limit: 100 });
    const execs = JSON.parse(`[${Buffer.from(items).toString()}]`) as ExecRecord[];
    const kinds = new Map<string, number>();
    for (const { exec_id: execId, ended_at: endedAt } of execs) {
      const { items: left } = await audit.artifacts(
        { tenant: 'default', execId },
        { limit: 10, withOutput: true },
      );
      const { items: seen } = await audit.inputs({ tenant: 'default', execId }, { limit: 10 });
      expect(seen).toHaveLength(endedAt === null ? 0 : 1);
      const made = left.map(({ kind }) => kind).join();
      kinds.set(made, (kinds.get(made) ?? 0) + 1);
    }
    expect([...kinds.keys()].sort()).toEqual(['', 'stdout,stderr', 'stdout,stderr,file']);
    expect(kinds.get('stdout,stderr,file')).toBeGreaterThan(execs.length / 5);
  } finally {
    await database.close();
    await rm(folder, { recursive: true });
  }
});
