export { AuditStore, type ExecPageOptions, type Page, type PageOptions } from './audit-store.js';
export { ExecStore } from './exec-store.js';
export { lockInstance } from './instance-lock.js';
export { openDatabase, type Database } from './open-database.js';
export {
  RetentionStore,
  type AgedPosition,
  type EndedPlace,
  type ProjectKey,
  type ProjectRemovalRecord,
  type Tombstone,
} from './retention-store.js';
export { SettingsStore } from './settings-store.js';
