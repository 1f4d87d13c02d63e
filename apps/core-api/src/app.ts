import type { AuditLog } from '@secbox/audit';
import type { ExecRunner } from '@secbox/exec-runner';
import type { Logger } from '@secbox/logging';
import type { Retention } from '@secbox/retention';
import express, { type Express } from 'express';
import { answerErrors, routeNotFound } from './answer-errors.js';
import type { HealthCheck } from './health.js';
import { loopbackOnly } from './loopback-only.js';
import { requestLog } from './request-log.js';
import { artifactRoutes } from './routes/artifacts.js';
import { auditRoutes } from './routes/audit.js';
import { eventRoutes } from './routes/events.js';
import { execRoutes, type ExecRoutesOptions } from './routes/execs.js';
import { healthRoutes } from './routes/health.js';
import { openApiRoutes } from './routes/openapi.js';
import { projectRoutes } from './routes/projects.js';
import { settingsRoutes, type SettingsRoutesOptions } from './routes/settings.js';

export interface AppParts extends ExecRoutesOptions, SettingsRoutesOptions {
  readonly runner: ExecRunner;
  readonly audit: AuditLog;
  readonly retention: Retention;
  readonly logger: Logger;
  readonly checkHealth: HealthCheck;
  readonly version: string;
}

/** The HTTP skin: parse, call one use case, format. */
export function createApp(parts: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(requestLog(parts.logger));
  app.use(loopbackOnly);
  app.use(healthRoutes(parts.checkHealth));
  app.use(auditRoutes(parts.audit));
  app.use(execRoutes(parts));
  app.use(artifactRoutes(parts.audit));
  app.use(eventRoutes(parts.runner));
  app.use(projectRoutes(parts.retention));
  app.use(settingsRoutes(parts));
  app.use(openApiRoutes(parts.version));
  app.use(routeNotFound);
  app.use(answerErrors(parts.logger));
  return app;
}
