import {
  parseProjectId,
  parseTenantId,
  projectDeletionQuerySchema,
  projectListQuerySchema,
  type ProjectDeletionQuery,
  type ProjectListQuery,
} from '@secbox/contracts';
import type { Retention } from '@secbox/retention';
import { Router } from 'express';
import { methodNotAllowed } from '../answer-errors.js';
import { queryReader } from '../read-query.js';
import { callersTenant } from '../tenant.js';

/** Projects, and how their files end. */
export function projectRoutes(retention: Pick<Retention, 'projects' | 'removeProject' | 'run'>): Router {
  const router = Router();
  const readList = queryReader<ProjectListQuery>(projectListQuerySchema);
  const readDeletion = queryReader<ProjectDeletionQuery>(projectDeletionQuerySchema);
  const tenant = () => parseTenantId(callersTenant());

  router
    .route('/projects')
    .get(async (request, response) => {
      response.json(await retention.projects(tenant(), readList(request)));
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  router
    .route('/projects/:projectId')
    .delete(async (request, response) => {
      const projectId = parseProjectId(request.params.projectId);
      const cancel = readDeletion(request).cancel === 'true';
      // Callers are not told apart yet.
      response.json(await retention.removeProject({ tenant: tenant(), projectId }, { by: null, cancel }));
    })
    .all(methodNotAllowed('DELETE'));

  router
    .route('/retention/run')
    .post(async (_request, response) => {
      response.json(await retention.run());
    })
    .all(methodNotAllowed('POST'));

  return router;
}
