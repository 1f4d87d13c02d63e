import type { ArchiveLimits } from '@secbox/skill-archive';
import type { FindingLimits } from './exec/exec-findings.js';
import type { HostMounts } from './exec/exec-road.js';
import type { LayerStoresOptions } from './store/layer-stores.js';

export interface SkillLayersOptions extends LayerStoresOptions {
  /** Left out where the kernel cannot lay folders over each other for us: execs then get copies. */
  readonly mounts?: HostMounts;
  readonly execLimits?: FindingLimits;
  readonly archiveLimits?: ArchiveLimits;
  /** Where the global tool pack lies, if it is not in this root. */
  readonly globalPack?: string;
}
