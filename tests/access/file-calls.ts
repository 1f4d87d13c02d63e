import { randomUUID } from 'node:crypto';
import type { RouteName } from '@secbox/core-api';
import type { Call } from './keyed-service.js';

/** What a caller asks for: things of its own tenant, of the other, or such that nobody has. */
export interface Target {
  readonly execId: string;
  /** An exec that is an invocation of the skill. */
  readonly invocationId: string;
  readonly project: string;
  readonly keyId: string;
  /** One who has the layered skill, and `kept` in the general sandbox of the agent. */
  readonly user: string;
  readonly layered: string;
  /** An exec that waits for a human's word, and the hash of its plan. */
  readonly heldId: string;
  readonly planHash: string;
}

export interface Asked extends Call {
  readonly path: string;
  /** Where it is not 200: the answer to one who may, about something that is there. */
  readonly status?: number;
  /** It can be asked in every tenant, of whomever: nothing of the other tenant shows. */
  readonly everywhere?: true;
}

type FileRoute = Extract<RouteName, `${string} /v1/${string}` | `${string}/files/{area}/${string}`>;
type Ask = (target: Target) => Asked;

const users = ({ user }: Target) => `/v1/skills/${user}/agent`;
const skills = (target: Target) => `${users(target)}/${target.layered}`;
const sandboxes = ({ user }: Target) => `/v1/sandbox/${user}/agent`;
const projects = ({ project }: Target) => `/projects/${project}-files/files/inputs`;
/** Nobody has it, and asking for it makes it nobody's. */
const none = 'path=no-such';
const trashed = randomUUID();

const get =
  (of: (target: Target) => string, call: string, more: Partial<Asked> = {}): Ask =>
  (target) => ({ path: `${of(target)}/${call}`, ...more });
const send = (method: string, of: (target: Target) => string, call: string, more: Partial<Asked> = {}): Ask =>
  get(of, call, { method, ...more });
const missing = { status: 404 } as const;
const everywhere = { everywhere: true } as const;
/** Where what is written is out of the way of what is read. */
const written = (target: Target) => `${users(target)}/written`;

/** One well-formed call of each route that is about files. */
export const fileCalls: Readonly<Record<FileRoute, Ask>> = {
  'POST /v1/skills/{userId}/{agentId}/upload': send('POST', users, 'upload', {
    body: {},
    status: 415,
    ...everywhere,
  }),
  'GET /v1/skills/{userId}/{agentId}/list': get(users, 'list', everywhere),
  'GET /v1/skills/{userId}/{agentId}/registry': get(users, 'registry', everywhere),
  'GET /v1/skills/{userId}/{agentId}/trash': get(users, 'trash', everywhere),
  'POST /v1/skills/{userId}/{agentId}/trash/{trashId}/restore': send(
    'POST',
    users,
    `trash/${trashed}/restore`,
    missing,
  ),
  'DELETE /v1/skills/{userId}/{agentId}/{skillId}': send('DELETE', users, 'no-such', missing),
  'GET /v1/skills/{userId}/{agentId}/{skillId}/status': get(skills, 'status'),
  'POST /v1/skills/{userId}/{agentId}/{skillId}/sync': send('POST', skills, 'sync'),
  'GET /v1/skills/{userId}/{agentId}/{skillId}/diff': get(skills, 'diff'),
  'GET /v1/skills/{userId}/{agentId}/{skillId}/versions': get(skills, 'versions'),
  'POST /v1/skills/{userId}/{agentId}/{skillId}/versions/{version}/restore': send(
    'POST',
    skills,
    `versions/${'0'.repeat(64)}/restore`,
    missing,
  ),
  'POST /v1/skills/{userId}/{agentId}/{skillId}/baseline': send('POST', skills, 'baseline'),
  'DELETE /v1/skills/{userId}/{agentId}/{skillId}/baseline': send(
    'DELETE',
    users,
    'no-such/baseline',
    missing,
  ),
  'GET /v1/skills/{userId}/{agentId}/{skillId}/files': get(skills, 'files'),
  'GET /v1/skills/{userId}/{agentId}/{skillId}/content': get(skills, 'content?path=SKILL.md'),
  'GET /v1/skills/{userId}/{agentId}/{skillId}/stat': get(skills, 'stat?path=SKILL.md'),
  'GET /v1/skills/{userId}/{agentId}/{skillId}/search': get(skills, 'search?text=secret'),
  'GET /v1/skills/{userId}/{agentId}/{skillId}/file': get(skills, 'file?path=SKILL.md'),
  'PUT /v1/skills/{userId}/{agentId}/{skillId}/file': send('PUT', written, 'file?path=a', {
    body: 1,
    ...everywhere,
  }),
  'DELETE /v1/skills/{userId}/{agentId}/{skillId}/file': send('DELETE', skills, `file?${none}`, missing),
  'PUT /v1/skills/{userId}/{agentId}/{skillId}/edit': send('PUT', written, 'edit?path=a', {
    body: 1,
    ...everywhere,
  }),
  'POST /v1/skills/{userId}/{agentId}/{skillId}/move': send('POST', skills, 'move?from=no&to=yes', missing),
  'POST /v1/skills/{userId}/{agentId}/{skillId}/execute': send('POST', skills, 'execute?command=ls'),
  'POST /v1/sandbox/{userId}/{agentId}/execute': send('POST', sandboxes, 'execute?command=ls', everywhere),
  'GET /v1/sandbox/{userId}/{agentId}/files': get(sandboxes, 'files', everywhere),
  'GET /v1/sandbox/{userId}/{agentId}/content': get(sandboxes, 'content?path=kept'),
  'GET /v1/sandbox/{userId}/{agentId}/stat': get(sandboxes, 'stat?path=kept'),
  'GET /v1/sandbox/{userId}/{agentId}/search': get(sandboxes, 'search?text=secret', everywhere),
  'GET /v1/sandbox/{userId}/{agentId}/file': get(sandboxes, 'file?path=kept'),
  'PUT /v1/sandbox/{userId}/{agentId}/file': send('PUT', sandboxes, 'file?path=a', {
    body: 1,
    ...everywhere,
  }),
  'DELETE /v1/sandbox/{userId}/{agentId}/file': send('DELETE', sandboxes, `file?${none}`, missing),
  'PUT /v1/sandbox/{userId}/{agentId}/edit': send('PUT', sandboxes, 'edit?path=a', {
    body: 1,
    ...everywhere,
  }),
  'POST /v1/sandbox/{userId}/{agentId}/move': send('POST', sandboxes, 'move?from=no&to=yes', missing),
  'GET /projects/{project_id}/files/{area}/list': get(projects, 'list'),
  'GET /projects/{project_id}/files/{area}/content': get(projects, 'content?path=given'),
  'GET /projects/{project_id}/files/{area}/stat': get(projects, 'stat?path=given'),
  'GET /projects/{project_id}/files/{area}/search': get(projects, 'search?text=secret'),
  'GET /projects/{project_id}/files/{area}/file': get(projects, 'file?path=given'),
  'PUT /projects/{project_id}/files/{area}/file': send('PUT', projects, 'file?path=a', { body: 1 }),
  'DELETE /projects/{project_id}/files/{area}/file': send('DELETE', projects, `file?${none}`, missing),
  'PUT /projects/{project_id}/files/{area}/edit': send('PUT', projects, 'edit?path=a', { body: 1 }),
  'POST /projects/{project_id}/files/{area}/move': send('POST', projects, 'move?from=no&to=yes', missing),
};
