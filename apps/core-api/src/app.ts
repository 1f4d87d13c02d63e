import type { ApiKeys, SecurityLog } from '@secbox/access';
import type { AuditLog } from '@secbox/audit';
import type { ExecRunner } from '@secbox/exec-runner';
import type { Logger } from '@secbox/logging';
import type { PrometheusMetrics } from '@secbox/metrics';
import type { Retention } from '@secbox/retention';
import express, { type Express } from 'express';
import helmet from 'helmet';
import { answerErrors, routeNotFound } from './answer-errors.js';
import { bodyDeadline } from './body-deadline.js';
import { GuardedRoutes, type Guard } from './guarded-routes.js';
import type { HealthCheck } from './health.js';
import { hostGuard, type HostGuardOptions } from './host-guard.js';
import { unambiguousRequest } from './request-form.js';
import { requestLog } from './request-log.js';
import { routeAccess } from './route-access.js';
import { approvalRoutes, type ApprovalRoutesOptions } from './routes/approvals.js';
import { artifactRoutes } from './routes/artifacts.js';
import { auditRoutes } from './routes/audit.js';
import { eventRoutes } from './routes/events.js';
import { execRoutes, type ExecRoutesOptions } from './routes/execs.js';
import { healthRoutes } from './routes/health.js';
import { keyRoutes } from './routes/keys.js';
import { mcpRoutes, type McpRoutesOptions } from './routes/mcp.js';
import { metricsRoutes } from './routes/metrics.js';
import { openApiRoutes } from './routes/openapi.js';
import { projectFileRoutes, type ProjectFilesOptions } from './routes/project-files.js';
import { projectRoutes } from './routes/projects.js';
import { runCodeRoutes, type RunCodeRoutesOptions } from './routes/run-code.js';
import { skillRoutes, type SkillRoutesOptions } from './routes/skills.js';
import { v1ExecuteRoutes, type V1ExecuteOptions } from './routes/v1-execute.js';
import { settingsRoutes, type SettingsRoutesOptions } from './routes/settings.js';
import { v1SandboxRoutes, type V1SandboxOptions } from './routes/v1-sandbox.js';
import { v1SkillRoutes } from './routes/v1-skills.js';

export interface AppParts
  extends
    ExecRoutesOptions,
    ApprovalRoutesOptions,
    RunCodeRoutesOptions,
    SettingsRoutesOptions,
    SkillRoutesOptions,
    McpRoutesOptions,
    ProjectFilesOptions,
    V1ExecuteOptions,
    V1SandboxOptions {
  readonly runner: ExecRunner;
  readonly audit: AuditLog;
  readonly retention: Retention;
  readonly keys: ApiKeys;
  readonly securityLog: SecurityLog;
  readonly metrics: PrometheusMetrics;
  /** Stands before every route. */
  readonly door: Guard;
  readonly logger: Logger;
  readonly checkHealth: HealthCheck;
  readonly version: string;
  readonly hosts: HostGuardOptions;
  /** As Express takes it; false: what proxies say is not believed. */
  readonly trustProxy: number | readonly string[] | false;
  readonly tls: boolean;
  readonly bodyTimeoutMs: number;
}

/** The HTTP skin: parse, let in, call one use case, format. */
export function createApp(parts: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', parts.trustProxy);
  app.use(requestLog(parts.logger));
  app.use(securityHeaders(parts.tls));
  app.use(unambiguousRequest);
  app.use(hostGuard(parts.hosts));
  app.use(bodyDeadline(parts.bodyTimeoutMs));
  const routes = new GuardedRoutes(routeAccess, parts.door);
  healthRoutes(routes, parts.checkHealth);
  auditRoutes(routes, parts);
  execRoutes(routes, parts);
  artifactRoutes(routes, parts.audit);
  eventRoutes(routes, parts);
  projectRoutes(routes, parts.retention);
  projectFileRoutes(routes, parts);
  runCodeRoutes(routes, parts);
  skillRoutes(routes, parts);
  approvalRoutes(routes, parts);
  v1ExecuteRoutes(routes, parts);
  v1SkillRoutes(routes, parts);
  v1SandboxRoutes(routes, parts);
  mcpRoutes(routes, parts);
  settingsRoutes(routes, parts);
  keyRoutes(routes, parts.keys);
  metricsRoutes(routes, parts.metrics);
  openApiRoutes(routes, parts.version);
  routes.mount(app);
  app.use(routeNotFound);
  app.use(answerErrors(parts.logger));
  return app;
}

/** Answers are data: no page may show, frame or run them. What is meant to be a page says so itself. */
function securityHeaders(tls: boolean) {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    strictTransportSecurity: tls,
  });
}
