import type { Command } from './command.js';
import { auditExport } from './audit/export.js';
import { auditList } from './audit/list.js';
import { auditShow } from './audit/show.js';
import { doctor } from './doctor/doctor.js';
import { exec } from './exec.js';
import { skillLint } from './skill/lint.js';
import { skillNew } from './skill/new.js';
import { skillPack } from './skill/pack.js';
import { skillPush } from './skill/push.js';
import { skillRun } from './skill/run.js';

export const commands: readonly Command[] = [
  skillNew,
  skillLint,
  skillRun,
  skillPack,
  skillPush,
  exec,
  auditList,
  auditShow,
  auditExport,
  doctor,
];
