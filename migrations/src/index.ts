import type { Migration } from 'kysely';
import { sandboxExecs } from './0001-sandbox-execs.js';
import { settings } from './0002-settings.js';
import { audit } from './0003-audit.js';
import { retention } from './0004-retention.js';
import { access } from './0005-access.js';
import { skills } from './0006-skills.js';
import { agentSkillRegistry } from './0007-agent-skill-registry.js';
import { layeredExecs } from './0008-layered-execs.js';
import { approvals } from './0009-approvals.js';
import { commandsToIndex } from './0010-commands-to-index.js';
import { webhookDeliveries } from './0011-webhook-deliveries.js';
import { seenExecs } from './0012-seen-execs.js';
import { commandPlaces } from './0013-command-places.js';
import { projectChanges } from './0014-project-changes.js';

/** In the order they run; what one that has been released makes of SQLite never changes. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001-sandbox-execs': sandboxExecs,
  '0002-settings': settings,
  '0003-audit': audit,
  '0004-retention': retention,
  '0005-access': access,
  '0006-skills': skills,
  '0007-agent-skill-registry': agentSkillRegistry,
  '0008-layered-execs': layeredExecs,
  '0009-approvals': approvals,
  '0010-commands-to-index': commandsToIndex,
  '0011-webhook-deliveries': webhookDeliveries,
  '0012-seen-execs': seenExecs,
  '0013-command-places': commandPlaces,
  '0014-project-changes': projectChanges,
};
