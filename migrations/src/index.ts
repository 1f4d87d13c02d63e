import type { Migration } from 'kysely';
import { sandboxExecs } from './0001-sandbox-execs.js';
import { settings } from './0002-settings.js';
import { audit } from './0003-audit.js';
import { retention } from './0004-retention.js';

/** In the order they run; a migration that has been released is never edited. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001-sandbox-execs': sandboxExecs,
  '0002-settings': settings,
  '0003-audit': audit,
  '0004-retention': retention,
};
