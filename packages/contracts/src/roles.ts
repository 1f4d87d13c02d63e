/**
 * What a key may do, each on its own; a key can have several.
 * `worker` submits and reads, `author` keeps skills and layers, `auditor` reads and exports and changes nothing,
 * `approver` decides what waits for a human, `admin` keeps keys and settings.
 */
export const roles = ['worker', 'author', 'auditor', 'approver', 'admin'] as const;
export type Role = (typeof roles)[number];
