import { describe, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import type { Express } from 'express';
import { createApp, type AppParts } from '../app.js';
import type { Guard } from '../guarded-routes.js';
import { openApiDocument } from './document.js';
import { operations } from './operations.js';

interface Layer {
  readonly route?: { readonly path: string | RegExp; readonly methods: Readonly<Record<string, boolean>> };
  readonly handle: { readonly stack?: readonly Layer[] };
}

/** The routes of the app as `get /path`; what they do is not called. */
function routesOf(app: Express): string[] {
  const layersOf = (layers: readonly Layer[]): Layer[] =>
    layers.flatMap((layer) => [layer, ...layersOf(layer.handle.stack ?? [])]);
  return layersOf((app.router as unknown as { stack: Layer[] }).stack).flatMap(({ route }) =>
    route
      ? Object.keys(route.methods)
          .filter((method) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
          .map((method) => `${method} ${templateOf(route.path)}`)
      : [],
  );
}

function templateOf(path: string | RegExp): string {
  if (typeof path === 'string') return path.replaceAll(/:(\w+)/g, '{$1}');
  const source = path.source.replaceAll('\\/', '/');
  return source
    .replace('[^/]+', source.startsWith('^/approvals/') ? '{approval_id}' : '{exec_id}')
    .replace('.*', '{path}')
    .replace(/^\^|\$$/g, '');
}

/** These describe the API and are not of it. */
const describing = [
  'get /openapi.json',
  'get /docs',
  'get /docs/show.js',
  'get /docs/swagger-ui.css',
  'get /docs/swagger-ui-bundle.js',
];

describe('the OpenAPI document', () => {
  test('has every route of the app, and no other', () => {
    const door: Guard = () => (_request, _response, next) => next();
    const hosts = { host: '127.0.0.1', allowedHosts: [] };
    const parts = { maxBodyBytes: 1, version: '1', door, hosts } as unknown as AppParts;
    const documented = operations.map(({ method, path }) => `${method} ${path}`);
    expect(routesOf(createApp(parts)).sort()).toEqual([...documented, ...describing].sort());
  });

  test('is clean to a linter', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const source = JSON.stringify(openApiDocument('1.0.0'));
    const problems = await lintFromString({ source, config });
    const told = problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]);
    expect(told).toEqual([]);
  });
});
