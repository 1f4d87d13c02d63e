import {
  execExportQuerySchema,
  execFilterSchema,
  execListQuerySchema,
  pageQuerySchema,
  projectDeletionQuerySchema,
  projectListQuerySchema,
} from '@secbox/contracts';

export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  readonly path: string;
  readonly id: string;
  readonly tag: 'execs' | 'audit' | 'files' | 'projects' | 'settings' | 'service';
  readonly summary: string;
  readonly query?: { readonly properties: object; readonly required?: readonly string[] };
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly required?: true }>>;
  /** The name of the body's schema. */
  readonly body?: string;
  /** Whether it can also be sent in several parts, with files. */
  readonly multipart?: true;
  readonly answers: Readonly<Record<number, Answer>>;
  /** The codes that an error can have, by status. */
  readonly errors: Readonly<Record<number, string>>;
}

/** A schema by its name, or bytes of these types. */
type Answer = { readonly description: string } & (
  { readonly schema: string } | { readonly types: readonly string[] } | { readonly nothing: true }
);

const answer = {
  description: 'The row of the exec, with what it left behind.',
  schema: 'ExecAnswer',
} as const;
const wrongId = { 400: 'The id is not one.', 404: 'There is no such exec.' } as const;
const unavailable = { 503: 'The database does not answer.' } as const;
const tooSlow = { 504: 'The database took too long; narrow it down.' } as const;
const download = (types: readonly string[]) =>
  ({
    200: { description: 'The bytes, to be saved.', types },
    206: { description: 'The range of them that was asked for.', types },
    304: { description: 'The client has them already.', nothing: true },
  }) as const;
const rangeHeaders = {
  Range: { description: 'One range of bytes.' },
  'If-Range': { description: 'The ETag that the range is of.' },
  'If-None-Match': { description: 'The ETag of what the client has.' },
} as const;

/** Every call that the service answers; a test compares them with its routes. */
export const operations: readonly Operation[] = [
  {
    method: 'post',
    path: '/sandbox/execs',
    id: 'runExec',
    tag: 'execs',
    summary: 'Run a command in a fresh sandbox',
    query: { properties: { wait: { type: 'string', enum: ['true', 'false'], default: 'true' } } },
    headers: {
      Prefer: { description: '`respond-async` answers at once, `wait=N` after N seconds at the latest.' },
      'Idempotency-Key': { description: 'The same request under the same key is one exec.' },
    },
    body: 'ExecRequest',
    multipart: true,
    answers: { 200: answer, 202: { description: 'It is under way.', schema: 'ExecAnswer' } },
    errors: {
      400: 'The request is not valid.',
      403: 'It asks for more than a ceiling allows.',
      413: 'The body is too large.',
      415: 'The body is not JSON.',
      422: 'The key was used for another request.',
      429: 'Too many execs wait already.',
      503: 'The engine or the database does not answer.',
    },
  },
  {
    method: 'get',
    path: '/sandbox/execs',
    id: 'listExecs',
    tag: 'audit',
    summary: 'List execs, page by page',
    query: execListQuerySchema,
    answers: { 200: { description: 'One page.', schema: 'ExecPage' } },
    errors: { 400: 'A parameter is not valid.', ...unavailable, ...tooSlow },
  },
  {
    method: 'get',
    path: '/sandbox/execs/export',
    id: 'exportExecs',
    tag: 'audit',
    summary: 'Export execs as lines of JSON or as CSV',
    query: execExportQuerySchema,
    answers: { 200: { description: 'One line an exec.', types: ['application/jsonl', 'text/csv'] } },
    errors: { 400: 'A parameter is not valid.', ...unavailable, ...tooSlow },
  },
  {
    method: 'get',
    path: '/sandbox/execs/stats',
    id: 'countExecs',
    tag: 'audit',
    summary: 'Count execs and their durations, by day, status, skill and actor',
    query: execFilterSchema,
    answers: { 200: { description: 'The figures.', schema: 'ExecStats' } },
    errors: { 400: 'A parameter is not valid.', ...unavailable, ...tooSlow },
  },
  {
    method: 'get',
    path: '/sandbox/execs/{exec_id}',
    id: 'getExec',
    tag: 'execs',
    summary: 'Get one exec',
    answers: { 200: answer },
    errors: { ...wrongId, ...unavailable },
  },
  {
    method: 'post',
    path: '/sandbox/execs/{exec_id}/cancel',
    id: 'cancelExec',
    tag: 'execs',
    summary: 'End an exec that waits or runs',
    answers: { 200: answer },
    errors: { ...wrongId, ...unavailable },
  },
  {
    method: 'get',
    path: '/sandbox/execs/{exec_id}/events',
    id: 'watchExec',
    tag: 'execs',
    summary: 'Follow an exec as server-sent events',
    headers: { 'Last-Event-ID': { description: 'The id of the event to go on after.' } },
    answers: { 200: { description: 'State and output, as they come.', types: ['text/event-stream'] } },
    errors: { ...wrongId, ...unavailable },
  },
  {
    method: 'get',
    path: '/sandbox/execs/{exec_id}/artifacts',
    id: 'listArtifacts',
    tag: 'files',
    summary: 'List what an exec left behind',
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: 'ArtifactListing' } },
    errors: { ...wrongId, ...unavailable },
  },
  {
    method: 'get',
    path: '/sandbox/execs/{exec_id}/artifacts/{path}',
    id: 'getArtifact',
    tag: 'files',
    summary: 'Download one file that an exec left behind',
    headers: rangeHeaders,
    answers: download(['*/*']),
    errors: {
      ...wrongId,
      409: 'The file is not the one that was recorded.',
      410: 'The file is not kept any more.',
      416: 'There is no such range.',
      ...unavailable,
    },
  },
  {
    method: 'get',
    path: '/sandbox/execs/{exec_id}/artifacts.zip',
    id: 'getArtifactsZip',
    tag: 'files',
    summary: 'Download all files of an exec as one ZIP',
    answers: { 200: { description: 'The ZIP, made while it is read.', types: ['application/zip'] } },
    errors: { ...wrongId, 409: 'The exec is not over.', ...unavailable },
  },
  {
    method: 'get',
    path: '/sandbox/execs/{exec_id}/inputs',
    id: 'listInputs',
    tag: 'files',
    summary: 'List the inputs that an exec could see',
    query: pageQuerySchema,
    answers: { 200: { description: 'One page.', schema: 'InputListing' } },
    errors: { ...wrongId, ...unavailable },
  },
  {
    method: 'get',
    path: '/sandbox/execs/{exec_id}/inputs/{path}',
    id: 'getInput',
    tag: 'files',
    summary: 'Download what an input held that an exec could see',
    headers: rangeHeaders,
    answers: download(['*/*']),
    errors: {
      ...wrongId,
      410: 'The content is not kept any more.',
      416: 'There is no such range.',
      ...unavailable,
    },
  },
  ...(['stdout', 'stderr'] as const).map((stream) => ({
    method: 'get' as const,
    path: `/sandbox/execs/{exec_id}/${stream}`,
    id: stream === 'stdout' ? 'getStdout' : 'getStderr',
    tag: 'files' as const,
    summary: `Download what an exec printed to ${stream}, or has printed so far`,
    headers: rangeHeaders,
    answers: download(['text/plain']),
    errors: {
      ...wrongId,
      409: 'The file is not the one that was recorded.',
      410: 'The file is not kept any more.',
      416: 'There is no such range.',
      ...unavailable,
    },
  })),
  {
    method: 'get',
    path: '/projects',
    id: 'listProjects',
    tag: 'projects',
    summary: 'List projects, page by page',
    query: projectListQuerySchema,
    answers: { 200: { description: 'One page.', schema: 'ProjectPage' } },
    errors: { 400: 'A parameter is not valid.', ...unavailable },
  },
  {
    method: 'delete',
    path: '/projects/{project_id}',
    id: 'deleteProject',
    tag: 'projects',
    summary: 'Remove the files of a project; the rows of its execs stay',
    query: projectDeletionQuerySchema,
    answers: { 200: { description: 'What was removed.', schema: 'ProjectRemoval' } },
    errors: {
      400: 'The id is not one.',
      404: 'There is no such project.',
      409: 'An exec of it waits or runs.',
      ...unavailable,
    },
  },
  {
    method: 'post',
    path: '/retention/run',
    id: 'runRetention',
    tag: 'projects',
    summary: 'Remove now what Settings say is due',
    answers: { 200: { description: 'What was removed.', schema: 'RetentionRun' } },
    errors: { 403: 'The Host header names another site.', ...unavailable },
  },
  {
    method: 'get',
    path: '/settings',
    id: 'getSettings',
    tag: 'settings',
    summary: 'Get the Settings that hold',
    answers: {
      200: { description: 'With their version, which is also the ETag.', schema: 'SettingsVersion' },
    },
    errors: { 403: 'The Host header names another site.' },
  },
  {
    method: 'put',
    path: '/settings',
    id: 'putSettings',
    tag: 'settings',
    summary: 'Replace the Settings',
    headers: { 'If-Match': { description: 'The ETag of the version that is replaced.', required: true } },
    body: 'Settings',
    answers: { 200: { description: 'The version that holds now.', schema: 'SettingsVersion' } },
    errors: {
      400: 'The Settings are not valid.',
      403: 'A value is past a built-in ceiling.',
      412: 'Another version holds.',
      428: 'If-Match is missing.',
      ...unavailable,
    },
  },
  {
    method: 'get',
    path: '/settings/history',
    id: 'listSettings',
    tag: 'settings',
    summary: 'List the versions of the Settings, newest first',
    query: {
      properties: {
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        before: { type: 'integer', minimum: 1 },
      },
    },
    answers: { 200: { description: 'One page.', schema: 'SettingsHistory' } },
    errors: { 400: 'A parameter is not valid.', ...unavailable },
  },
  {
    method: 'get',
    path: '/healthz',
    id: 'isServing',
    tag: 'service',
    summary: 'Whether the server serves',
    answers: { 200: { description: 'It does.', schema: 'Serving' } },
    errors: { 403: 'The Host header names another site.' },
  },
  {
    method: 'get',
    path: '/sandbox/health',
    id: 'getHealth',
    tag: 'service',
    summary: 'What an operator needs to know',
    answers: {
      200: { description: 'All is well.', schema: 'Health' },
      503: { description: 'Something is not; `problems` says what.', schema: 'Health' },
    },
    errors: { 403: 'The Host header names another site.' },
  },
];
