import { execScopeOf } from '@secbox/access';
import {
  parseProjectId,
  projectDeletionQuerySchema,
  projectListQuerySchema,
  type ProjectDeletionQuery,
  type ProjectListQuery,
} from '@secbox/contracts';
import type { Retention } from '@secbox/retention';
import type { GuardedRoutes } from '../guarded-routes.js';
import { queryReader } from '../read-query.js';
import type { RouteName } from '../route-access.js';

/** Projects, and how their files end. */
export function projectRoutes(
  routes: GuardedRoutes<RouteName>,
  retention: Pick<Retention, 'projects' | 'removeProject' | 'run'>,
): void {
  const readList = queryReader<ProjectListQuery>(projectListQuerySchema);
  const readDeletion = queryReader<ProjectDeletionQuery>(projectDeletionQuerySchema);

  routes.on('GET /projects', async (request, response, caller) => {
    response.json(await retention.projects(execScopeOf(caller), readList(request)));
  });

  routes.on('DELETE /projects/{project_id}', async (request, response, { tenant, actor: by }) => {
    const projectId = parseProjectId(String(request.params['project_id']));
    const cancel = readDeletion(request).cancel === 'true';
    response.json(await retention.removeProject({ tenant, projectId }, { by, cancel }));
  });

  routes.on('POST /retention/run', async (_request, response) => {
    response.json(await retention.run());
  });
}
