import type { RequiredAccess } from '@secbox/access';
import { roles, type Role } from '@secbox/contracts';

/** What a call takes: no key at all, or one with one of these roles. */
export type RouteAccess = 'open' | RequiredAccess;

const inTenant = (...of: readonly Role[]): RequiredAccess => ({ roles: of, scope: 'tenant' });
const anyRole = inTenant(...roles);
const readers = inTenant('worker', 'auditor', 'admin');
const skillReaders = inTenant('worker', 'author', 'auditor', 'admin');
/** What is about all users of the tenant. */
const ofEveryone = (...of: readonly Role[]): RequiredAccess => ({ ...inTenant(...of), ofEveryone: true });
const approvalReaders = ofEveryone('auditor', 'approver', 'admin');
const submitters = inTenant('worker');
/** Skills as files and general sandboxes, of the users whom the key may act for. */
const users = inTenant('worker', 'author');
const userReaders = inTenant('worker', 'author', 'auditor');
const authors = inTenant('author');
const administrators = ofEveryone('admin');
/** What holds for all tenants is decided in the tenant `default`. */
const installation: RequiredAccess = { ...ofEveryone('admin'), scope: 'installation' };

/**
 * Who may call what: the one table. The service guards its routes by it and does not start with a route that is not
 * here; docs/roles.md and the OpenAPI document are made of it, and a test walks it with every role and tenant.
 */
export const routeAccess = {
  'POST /sandbox/execs': submitters,
  'GET /sandbox/execs': readers,
  'GET /sandbox/execs/export': inTenant('auditor'),
  'GET /sandbox/execs/stats': readers,
  'GET /sandbox/execs/{exec_id}': readers,
  'POST /sandbox/execs/{exec_id}/cancel': inTenant('worker', 'admin'),
  'GET /sandbox/execs/{exec_id}/events': readers,
  'GET /sandbox/execs/{exec_id}/artifacts': readers,
  'GET /sandbox/execs/{exec_id}/artifacts/{path}': readers,
  'GET /sandbox/execs/{exec_id}/artifacts.zip': readers,
  'GET /sandbox/execs/{exec_id}/inputs': readers,
  'GET /sandbox/execs/{exec_id}/inputs/{path}': readers,
  'GET /sandbox/execs/{exec_id}/stdout': readers,
  'GET /sandbox/execs/{exec_id}/stderr': readers,
  'POST /run_code': submitters,
  'GET /run_code/{exec_id}': readers,
  'GET /skills': skillReaders,
  'GET /skills/{skill_id}': skillReaders,
  'GET /skills/{skill_id}/files': skillReaders,
  'POST /skills/{skill_id}/invoke': submitters,
  'GET /skills/{skill_id}/execs/{exec_id}': readers,
  'POST /v1/skills/{userId}/{agentId}/{skillId}/execute': submitters,
  'POST /v1/sandbox/{userId}/{agentId}/execute': submitters,
  'POST /v1/skills/{userId}/{agentId}/upload': users,
  'GET /v1/skills/{userId}/{agentId}/list': userReaders,
  'GET /v1/skills/{userId}/{agentId}/registry': userReaders,
  'GET /v1/skills/{userId}/{agentId}/trash': userReaders,
  'POST /v1/skills/{userId}/{agentId}/trash/{trashId}/restore': users,
  'DELETE /v1/skills/{userId}/{agentId}/{skillId}': users,
  'GET /v1/skills/{userId}/{agentId}/{skillId}/status': userReaders,
  'POST /v1/skills/{userId}/{agentId}/{skillId}/sync': users,
  'GET /v1/skills/{userId}/{agentId}/{skillId}/diff': userReaders,
  'GET /v1/skills/{userId}/{agentId}/{skillId}/versions': userReaders,
  'POST /v1/skills/{userId}/{agentId}/{skillId}/versions/{version}/restore': authors,
  'POST /v1/skills/{userId}/{agentId}/{skillId}/baseline': authors,
  'DELETE /v1/skills/{userId}/{agentId}/{skillId}/baseline': authors,
  'GET /v1/skills/{userId}/{agentId}/{skillId}/files': userReaders,
  'GET /v1/skills/{userId}/{agentId}/{skillId}/content': userReaders,
  'GET /v1/skills/{userId}/{agentId}/{skillId}/stat': userReaders,
  'GET /v1/skills/{userId}/{agentId}/{skillId}/search': userReaders,
  'GET /v1/skills/{userId}/{agentId}/{skillId}/file': userReaders,
  'PUT /v1/skills/{userId}/{agentId}/{skillId}/file': users,
  'DELETE /v1/skills/{userId}/{agentId}/{skillId}/file': users,
  'PUT /v1/skills/{userId}/{agentId}/{skillId}/edit': users,
  'POST /v1/skills/{userId}/{agentId}/{skillId}/move': users,
  'GET /v1/sandbox/{userId}/{agentId}/files': userReaders,
  'GET /v1/sandbox/{userId}/{agentId}/content': userReaders,
  'GET /v1/sandbox/{userId}/{agentId}/stat': userReaders,
  'GET /v1/sandbox/{userId}/{agentId}/search': userReaders,
  'GET /v1/sandbox/{userId}/{agentId}/file': userReaders,
  'PUT /v1/sandbox/{userId}/{agentId}/file': users,
  'DELETE /v1/sandbox/{userId}/{agentId}/file': users,
  'PUT /v1/sandbox/{userId}/{agentId}/edit': users,
  'POST /v1/sandbox/{userId}/{agentId}/move': users,
  'GET /approvals': approvalReaders,
  'GET /approvals/live': approvalReaders,
  'GET /approvals/{approval_id}': approvalReaders,
  'GET /approvals/{approval_id}/inputs/{path}': approvalReaders,
  'POST /approvals/{approval_id}/decision': ofEveryone('approver'),
  'POST /mcp': skillReaders,
  'GET /mcp': skillReaders,
  'DELETE /mcp': skillReaders,
  'GET /projects': readers,
  'DELETE /projects/{project_id}': administrators,
  'GET /projects/{project_id}/files/{area}/list': readers,
  'GET /projects/{project_id}/files/{area}/content': readers,
  'GET /projects/{project_id}/files/{area}/stat': readers,
  'GET /projects/{project_id}/files/{area}/search': readers,
  'GET /projects/{project_id}/files/{area}/file': readers,
  'PUT /projects/{project_id}/files/{area}/file': submitters,
  'DELETE /projects/{project_id}/files/{area}/file': submitters,
  'PUT /projects/{project_id}/files/{area}/edit': submitters,
  'POST /projects/{project_id}/files/{area}/move': submitters,
  'POST /retention/run': installation,
  'GET /settings': installation,
  'PUT /settings': installation,
  'GET /settings/history': installation,
  'POST /keys': administrators,
  'GET /keys': administrators,
  'DELETE /keys/{key_id}': administrators,
  'GET /audit/events': ofEveryone('auditor', 'admin'),
  'GET /metrics': installation,
  'GET /healthz': 'open',
  'GET /sandbox/health': anyRole,
  'GET /openapi.json': 'open',
  'GET /docs': 'open',
  'GET /docs/show.js': 'open',
  'GET /docs/swagger-ui.css': 'open',
  'GET /docs/swagger-ui-bundle.js': 'open',
} as const satisfies Readonly<
  Record<`${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`, RouteAccess>
>;

export type RouteName = keyof typeof routeAccess;
