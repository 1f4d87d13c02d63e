import type { ExecAnswer, ProjectPage, RetentionRun, RetentionSettings } from '@secbox/contracts';
import type { RunningService } from '../exec/running-service.js';

export interface Answer<Body = Record<string, unknown>> {
  readonly status: number;
  readonly body: Body & { readonly error?: { readonly code: string; readonly details?: unknown } };
}

/** The calls of the API that these tests need, on whichever server. */
export function apiOf({ url }: Pick<RunningService, 'url'>) {
  const call = async <Body>(
    method: string,
    path: string,
    body?: object,
    headers = {},
  ): Promise<Answer<Body>> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = /^\s*[{[]/.test(text) ? (JSON.parse(text) as Answer<Body>['body']) : undefined;
    return { status: response.status, body: json ?? ({} as Answer<Body>['body']) };
  };
  return {
    get: (path: string) => call<Record<string, unknown>>('GET', path),
    exec: async (execId: string) => (await call<ExecAnswer>('GET', `/sandbox/execs/${execId}`)).body,
    remove: (project: string, query = '') =>
      call<Record<string, unknown>>('DELETE', `/projects/${project}${query}`),
    projects: async (query = '') => (await call<ProjectPage>('GET', `/projects${query}`)).body,
    run: async () => (await call<RetentionRun>('POST', '/retention/run')).body,
    /** Answers at once, while it runs. */
    submit: async (project: string, script: string, inputs: object[] = []) => {
      const { body } = await call<ExecAnswer>(
        'POST',
        '/sandbox/execs',
        { project_id: project, inputs, exec: { kind: 'shell', command: 'bash', args: ['-lc', script] } },
        { prefer: 'respond-async' },
      );
      return body.exec_id;
    },
    retain: async (retention: RetentionSettings) => {
      const { body } = await call<{ version: number }>('GET', '/settings');
      const put = await call('PUT', '/settings', { retention }, { 'if-match': `"${body.version}"` });
      if (put.status !== 200) throw new Error(JSON.stringify(put.body));
    },
  };
}

export type Api = ReturnType<typeof apiOf>;
