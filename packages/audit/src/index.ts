export { fileNameOf, nameOf, parseArtifactPath } from './artifact-path.js';
export { AuditLog, type AuditLogOptions } from './audit-log.js';
export type { AuditRecords, Page, PageOptions } from './audit-records.js';
export type { Seals } from './cursor.js';
export type { OpenedFile } from './open-file.js';
export { outputStreams, outputType, type OutputStream } from './open-output.js';
