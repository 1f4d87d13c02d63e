import type { ApiKey, ExecAnswer, Role } from '@secbox/contracts';
import { keyCommand, type ServiceOptions } from '@secbox/core-api';
import { startRunningService, type RunningService } from '../exec/running-service.js';

export interface MadeKey {
  readonly key: string;
  readonly keyId: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON of it, or an empty object. */
  readonly body: Record<string, unknown> & { readonly error?: { readonly code: string } };
}

export interface Call {
  readonly key?: string | undefined;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** A service that takes keys, and what it takes to have some. */
export interface KeyedService extends RunningService {
  makeKey(tenant: string, roles: readonly Role[], ...more: string[]): Promise<MadeKey>;
  /** With the command, beside the server. */
  revokeKey(keyId: string): Promise<void>;
  call(path: string, call?: Call): Promise<Answer>;
  /** A shell script, run to its end. */
  run(key: string, project: string, script: string, more?: object): Promise<ExecAnswer>;
}

export async function startKeyedService(
  environment: Record<string, string> = {},
  options: Pick<ServiceOptions, 'limits'> = {},
): Promise<KeyedService> {
  const service = await startRunningService({ SECBOX_AUTH: 'keys', ...environment }, undefined, options);
  const call = callsTo(service.url);
  return {
    ...service,
    call,
    makeKey: (tenant, roles, ...more) => makeKey(service.dataDir, tenant, roles, more),
    revokeKey: async (keyId) => {
      const silent = { result: () => undefined, note: () => undefined };
      await keyCommand(['--data-dir', service.dataDir, '--revoke', keyId], silent);
    },
    run: async (key, project, script, more = {}) => {
      const exec = { kind: 'shell', command: 'bash', args: ['-lc', script] };
      const answer = await call('/sandbox/execs', { key, body: { project_id: project, exec, ...more } });
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
      return answer.body as unknown as ExecAnswer;
    },
  };
}

export function callsTo(url: string): KeyedService['call'] {
  return async (path, { key, method, headers = {}, body } = {}) => {
    const response = await fetch(`${url}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = /^application\/json(;|$)/.test(response.headers.get('content-type') ?? '');
    const json = isJson && text !== '' ? (JSON.parse(text) as Answer['body']) : {};
    return { status: response.status, headers: response.headers, text, body: json };
  };
}

/** As an operator does, with the command, while the server runs. */
export async function makeKey(
  dataDir: string,
  tenant: string,
  roles: readonly Role[],
  more: readonly string[] = [],
): Promise<MadeKey> {
  const results: string[] = [];
  const notes: string[] = [];
  const roleWords = roles.flatMap((role) => ['--role', role]);
  await keyCommand(['--data-dir', dataDir, '--tenant', tenant, ...roleWords, ...more], {
    result: (line) => void results.push(line),
    note: (line) => void notes.push(line),
  });
  const [key = ''] = results;
  return { key, keyId: /[0-9a-f-]{36}/.exec(notes.join())?.[0] ?? '' };
}

export type KeyList = { readonly keys: readonly ApiKey[]; readonly next_cursor: string | null };
