import { Router } from 'express';
import { methodNotAllowed } from '../answer-errors.js';
import type { HealthCheck } from '../health.js';

export function healthRoutes(checkHealth: HealthCheck): Router {
  const router = Router();

  router
    .route('/healthz')
    .get((_request, response) => {
      response.json({ status: 'ok' });
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  router
    .route('/sandbox/health')
    .get(async (_request, response) => {
      const health = await checkHealth();
      response.status(health.status === 'ok' ? 200 : 503).json(health);
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  return router;
}
