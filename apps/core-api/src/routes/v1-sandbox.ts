import { folderUsage } from '@secbox/exec-runner';
import { sandboxOwner } from '@secbox/workspace';
import { fileRoutes } from '../files/file-routes.js';
import type { CurrentSettings } from '../current-settings.js';
import type { GuardedRoutes } from '../guarded-routes.js';
import { NamedLocks, sandboxArea } from '../layers/sandboxes.js';
import { SandboxRoom } from '../layers/sandbox-room.js';
import { recordedArea } from '../layers/skill-events.js';
import { success, userIn } from '../layers/v1-place.js';
import type { RouteName } from '../route-access.js';
import { workLimitOf } from '../limits-of-settings.js';
import { largestFile, type V1RoutesOptions } from './v1-skills.js';

export interface V1SandboxOptions extends V1RoutesOptions {
  readonly settings: CurrentSettings;
}

/** The files of general sandboxes. */
export function v1SandboxRoutes(
  routes: GuardedRoutes<RouteName>,
  { layers, securityLog: log, settings, assertRoom, uploads, maxBodyBytes, maxUploadBytes }: V1SandboxOptions,
): void {
  const room = new SandboxRoom({
    measure: folderUsage,
    limit: () => workLimitOf(settings.get().settings),
  });
  const locks = new NamedLocks();
  const owner = process.getuid?.() === 0 ? sandboxOwner : undefined;
  fileRoutes(routes, {
    prefix: '/v1/sandbox/{userId}/{agentId}',
    list: 'files',
    areaOf: async (request, caller) => {
      const user = userIn(request, caller, log);
      const area = sandboxArea(await layers.of(caller.tenant), user, { locks, owner, room });
      return recordedArea({ log, request, caller }, user, area);
    },
    assertRoom,
    uploads,
    maxBodyBytes,
    maxFileBytes: Math.min(maxUploadBytes, largestFile),
    answers: {
      plain: success,
      list: ({ files }) => success(files.map(({ path }) => path)),
      edited: (file) => success('Sandbox file updated successfully.', { file }),
    },
  });
}
