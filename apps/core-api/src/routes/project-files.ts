import { execScopeOf, isLimited, type Principal, type SecurityLog } from '@secbox/access';
import type { AuditLog } from '@secbox/audit';
import { parseProjectId, SecboxError, type ProjectId } from '@secbox/contracts';
import type { ProjectArea } from '@secbox/workspace';
import { auditedArea } from '../files/audited-area.js';
import { fileRoutes } from '../files/file-routes.js';
import { projectNotFound, type ProjectAreas } from '../files/project-areas.js';
import type { UploadsAtOnce } from '../files/uploads-at-once.js';
import type { GuardedRoutes } from '../guarded-routes.js';
import type { RouteName } from '../route-access.js';
import { largestFile } from './v1-skills.js';

export interface ProjectFilesOptions {
  readonly projectAreas: ProjectAreas;
  readonly audit: Pick<AuditLog, 'seesProject'>;
  readonly securityLog: Pick<SecurityLog, 'happened'>;
  readonly assertRoom: () => void;
  readonly uploads: UploadsAtOnce;
  readonly maxBodyBytes: number;
  readonly maxUploadBytes: number;
}

/** The files of projects. */
export function projectFileRoutes(
  routes: GuardedRoutes<RouteName>,
  {
    projectAreas,
    audit,
    securityLog,
    assertRoom,
    uploads,
    maxBodyBytes,
    maxUploadBytes,
  }: ProjectFilesOptions,
): void {
  /** What an exec left behind is of whoever it was for; the rest is of all who run execs in the project. */
  const assertSeen = async (caller: Principal, projectId: ProjectId, area: ProjectArea) => {
    if (!isLimited(caller)) return;
    if (area === 'artifacts') {
      throw new SecboxError(
        'subject_forbidden',
        'This key is limited to users or agents: it reads artifacts by their exec.',
      );
    }
    if (!(await audit.seesProject(execScopeOf(caller), projectId))) throw projectNotFound(projectId);
  };

  fileRoutes(routes, {
    prefix: '/projects/{project_id}/files/{area}',
    list: 'list',
    areaOf: async (request, caller) => {
      const { tenant, actor } = caller;
      const projectId = parseProjectId(String(request.params['project_id']));
      const name = areaIn(String(request.params['area']));
      await assertSeen(caller, projectId, name);
      const by = { actor, address: request.ip ?? null };
      return auditedArea(await projectAreas.of({ tenant, projectId }, name), (change) =>
        securityLog.happened('file_changed', by, {
          tenant,
          subject: projectId,
          details: { area: name, project_id: projectId, ...change },
        }),
      );
    },
    assertRoom,
    uploads,
    maxBodyBytes,
    maxFileBytes: Math.min(maxUploadBytes, largestFile),
    answers: { plain: (data) => data, list: (listing) => listing, edited: (change) => change },
  });
}

function areaIn(text: string): ProjectArea {
  if (text === 'inputs' || text === 'work' || text === 'artifacts') return text;
  throw new SecboxError('invalid_path', 'A project has files in inputs, work and artifacts.', {
    details: { field: 'area' },
  });
}
