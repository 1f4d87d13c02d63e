export { ApprovalStore, type ApprovalPageOptions } from './approval-store.js';
export {
  AuditStore,
  type ExecPageOptions,
  type Page,
  type PageOptions,
  type TextPage,
} from './audit-store.js';
export { DeliveryStore, type PendingDelivery } from './delivery-store.js';
export { EventStore, type EventSelection } from './event-store.js';
export { ExecStore } from './exec-store.js';
export { lockInstance } from './instance-lock.js';
export { KeyStore, type StoredKey } from './key-store.js';
export { openDatabase, type Database, type OpenOptions } from './open-database.js';
export {
  RetentionStore,
  type AgedPosition,
  type EndedPlace,
  type ProjectKey,
  type ProjectRemovalRecord,
  type Tombstone,
} from './retention-store.js';
export { SettingsStore } from './settings-store.js';
export {
  SkillRegistryStore,
  type RegisteredSkill,
  type RegisteredSkillKey,
  type RegisteredUser,
} from './skill-registry-store.js';
