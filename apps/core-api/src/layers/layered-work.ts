import { LayeredWork, type LayeredWorkOptions } from '@secbox/exec-runner';
import type { SkillRegister } from './skill-register.js';
import type { TenantLayers } from './tenant-layers.js';

/** What execs over skills as files go through, of whichever tenant. */
export function layeredWorkOf(
  parts: Pick<LayeredWorkOptions, 'engine' | 'workspace' | 'dataDir' | 'logger'>,
  layers: TenantLayers,
  register: Pick<SkillRegister, 'refresh'>,
  imageReference: string,
): LayeredWork {
  const layered = new LayeredWork({
    ...parts,
    imageReference,
    mounts: layers.mounts,
    layersOf: (tenant) => layers.of(tenant),
    onChanged: async (tenant, place) => register.refresh(tenant, await layers.of(tenant), place),
  });
  layered.begin();
  return layered;
}
