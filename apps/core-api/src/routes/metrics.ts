import type { PrometheusMetrics } from '@secbox/metrics';
import type { GuardedRoutes } from '../guarded-routes.js';
import type { RouteName } from '../route-access.js';

/** The figures of the service, as Prometheus reads them. */
export function metricsRoutes(
  routes: GuardedRoutes<RouteName>,
  metrics: Pick<PrometheusMetrics, 'render' | 'contentType'>,
): void {
  routes.on('GET /metrics', async (_request, response) => {
    const text = await metrics.render();
    response.setHeader('content-type', metrics.contentType).setHeader('cache-control', 'no-store').end(text);
  });
}
