export { Retention, type RetentionOptions } from './retention.js';
export type { RetentionParts } from './retention-parts.js';
export type {
  AgedPosition,
  EndedPlace,
  ProjectKey,
  ProjectRemovalRecord,
  RemovalScope,
  RetentionRecords,
  Tombstone,
} from './retention-records.js';
