export {
  openHostMounts,
  type Bind,
  type HostMounts,
  type HostMountsOptions,
  type OpenedHostMounts,
  type Overlay,
} from './host-mounts.js';
export type { DiskPlace } from './move-into-image.js';
export type { Slot } from './slot.js';
export { openSlots, type Slots, type SlotsOptions, type SweptSlots } from './slots.js';
export { ProgramError, runSystemProgram } from './system-program.js';
export { WorkDisks, type WorkDisksOptions } from './work-disks.js';
