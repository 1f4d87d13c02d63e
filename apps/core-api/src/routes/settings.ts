import { SecboxError } from '@secbox/contracts';
import type { Request } from 'express';
import type { CurrentSettings } from '../current-settings.js';
import type { GuardedRoutes } from '../guarded-routes.js';
import { jsonBody } from '../json-body.js';
import type { RouteName } from '../route-access.js';

export interface SettingsRoutesOptions {
  readonly settings: CurrentSettings;
  readonly maxBodyBytes: number;
}

const defaultPage = 20;
const largestPage = 100;

export function settingsRoutes(
  routes: GuardedRoutes<RouteName>,
  { settings, maxBodyBytes }: SettingsRoutesOptions,
): void {
  routes.on('GET /settings', (_request, response) => {
    const current = settings.get();
    response.setHeader('etag', etagOf(current.version)).json(current);
  });

  routes.on(
    'PUT /settings',
    async (request, response, { actor }) => {
      const by = { actor, address: request.ip ?? null };
      const stored = await settings.put(request.body, replacedVersion(request), by);
      response.setHeader('etag', etagOf(stored.version)).json(stored);
    },
    jsonBody(maxBodyBytes),
  );

  routes.on('GET /settings/history', async (request, response) => {
    const limit = wholeNumber(request, 'limit', 1, largestPage) ?? defaultPage;
    const versions = await settings.history(
      limit,
      wholeNumber(request, 'before', 1, Number.MAX_SAFE_INTEGER),
    );
    const last = versions.at(-1)?.version;
    response.json({ versions, next_before: versions.length === limit && last !== 1 ? last : null });
  });
}

function etagOf(version: number): string {
  return `"${version}"`;
}

function replacedVersion(request: Request): number {
  const header = request.headers['if-match'];
  if (header === undefined) {
    throw new SecboxError(
      'precondition_required',
      'Say which version this replaces: send the ETag of GET /settings as If-Match.',
    );
  }
  const version = /^"(\d{1,15})"$/.exec(header)?.[1];
  if (version === undefined) {
    throw new SecboxError('invalid_request', 'If-Match must be the ETag of GET /settings, such as "3".');
  }
  return Number(version);
}

function wholeNumber(request: Request, name: string, least: number, most: number): number | undefined {
  const text: unknown = request.query[name];
  if (text === undefined) return undefined;
  const value = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SecboxError('invalid_request', `"${name}" must be a whole number from ${least} to ${most}.`);
}
