import { isInstallationAdmin, isLimited } from '@secbox/access';
import type { GuardedRoutes } from '../guarded-routes.js';
import { withoutParticulars, type HealthCheck } from '../health.js';
import type { RouteName } from '../route-access.js';

export function healthRoutes(routes: GuardedRoutes<RouteName>, checkHealth: HealthCheck): void {
  routes.on('GET /healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });

  routes.on('GET /sandbox/health', async (_request, response, caller) => {
    const health = await checkHealth();
    const seesAll = isInstallationAdmin(caller) && !isLimited(caller);
    response.status(health.status === 'ok' ? 200 : 503).json(seesAll ? health : withoutParticulars(health));
  });
}
