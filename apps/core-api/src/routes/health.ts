import type { GuardedRoutes } from '../guarded-routes.js';
import type { HealthCheck } from '../health.js';
import type { RouteName } from '../route-access.js';

export function healthRoutes(routes: GuardedRoutes<RouteName>, checkHealth: HealthCheck): void {
  routes.on('GET /healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });

  routes.on('GET /sandbox/health', async (_request, response) => {
    const health = await checkHealth();
    response.status(health.status === 'ok' ? 200 : 503).json(health);
  });
}
