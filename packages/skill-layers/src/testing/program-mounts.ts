import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { HostMounts } from '../exec/exec-road.js';

const run = promisify(execFile);

/** Mounts by the system's own programs: needs Linux and root. */
export const programMounts: HostMounts = {
  async overlay({ lower, upper, work, target }) {
    const layers = `lowerdir=${lower.join(':')},upperdir=${upper},workdir=${work}`;
    const options = `${layers},metacopy=off,redirect_dir=off,index=off`;
    await run('mount', ['-t', 'overlay', 'overlay', '-o', options, target]);
  },
  async unmount(target) {
    await run('umount', [target]).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : '';
      if (!/not mounted|no mount point|not found/.test(message)) throw error;
    });
  },
};

/** Where overlays can be mounted at all. */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0;
