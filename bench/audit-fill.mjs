import { createRequire } from 'node:module';
import path from 'node:path';
import { repositoryRoot } from '../docker/setup/settings.mjs';
import * as rows from './audit-rows.mjs';

/**
 * @typedef {object} Sqlite the part of the driver that is used here
 * @property {(text: string) => unknown} pragma
 * @property {(text: string) => unknown} exec
 * @property {(text: string) => { run: (values?: object) => unknown }} prepare
 * @property {(work: () => void) => () => void} transaction
 * @property {() => unknown} close
 */

const FILL_AT_ONCE = 20_000;

/**
 * @param {string} file
 * @returns {Sqlite}
 */
export function connect(file) {
  const require = createRequire(path.join(repositoryRoot, 'packages/database/package.json'));
  return new (driverIn(require('better-sqlite3')))(file);
}

/** @param {unknown} module */
function driverIn(module) {
  return /** @type {new (file: string) => Sqlite} */ (module);
}

/**
 * As the store would, but many at once and without waiting for the disk.
 *
 * @param {string} file
 * @param {number} count
 */
export function fill(file, count) {
  const sqlite = connect(file);
  sqlite.pragma('synchronous = OFF');
  const { command: _, ...columns } = rows.rowOf(0, count);
  const names = Object.keys(columns);
  const marks = names.map((name) => `@${name}`);
  const row = sqlite.prepare(`INSERT INTO sandbox_execs (${names.join()}) VALUES (${marks.join()})`);
  sqlite
    .prepare('INSERT INTO command_places (tenant, place) VALUES (@tenant, 1)')
    .run({ tenant: rows.OTHER_TENANT });
  const text = sqlite.prepare(
    'INSERT INTO sandbox_exec_commands (rowid, command) SELECT (place << 52) + CAST(@seq AS INTEGER), @command FROM command_places WHERE tenant = @tenant',
  );
  for (let at = 0; at < count; at += FILL_AT_ONCE) {
    sqlite.transaction(() => {
      for (let n = at; n < Math.min(count, at + FILL_AT_ONCE); n += 1) {
        const { command, ...values } = rows.rowOf(n, count);
        row.run(values);
        text.run({ seq: values.seq, tenant: values.tenant, command });
      }
    })();
  }
  sqlite.exec(FILES);
  sqlite.pragma('wal_checkpoint(TRUNCATE)');
  sqlite.close();
}

/**
 * What each exec that is over saw, one file, and left: its output, and every third of them a file more. In the order of
 * their keys, as these are random and each would else be put into another page.
 */
const FILES = `
  INSERT INTO sandbox_exec_inputs (exec_id, ordinal, path, size, sha256, secret)
  SELECT exec_id, 0, 'main.py', 400, request_hash, 0
  FROM sandbox_execs WHERE ended_at IS NOT NULL ORDER BY exec_id;

  WITH files (ordinal, path, kind, size, media_type) AS (VALUES
    (0, 'stdout.txt', 'stdout', 120, 'text/plain'),
    (1, 'stderr.txt', 'stderr', 0, 'text/plain'),
    (2, 'report.csv', 'file', 4000, 'text/csv'))
  INSERT INTO sandbox_exec_artifacts (exec_id, ordinal, path, kind, size, sha256, media_type)
  SELECT exec_id, ordinal, path, files.kind, size, plan_hash, media_type
  FROM sandbox_execs CROSS JOIN files
  WHERE ended_at IS NOT NULL AND (ordinal < 2 OR exec_id < '55')
  ORDER BY exec_id, ordinal;
`;
