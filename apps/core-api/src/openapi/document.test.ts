import { describe, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import type { Express } from 'express';
import { createApp, type AppParts } from '../app.js';
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
  if (typeof path === 'string')
    return path.replaceAll(':execId', '{exec_id}').replaceAll(':projectId', '{project_id}');
  return path.source
    .replaceAll('\\/', '/')
    .replace('[^/]+', '{exec_id}')
    .replace('.*', '{path}')
    .replace(/^\^|\$$/g, '');
}

/** These describe the API and are not of it. */
const describing = ['get /openapi.json', 'get /docs', 'get /docs/show.js'];

describe('the OpenAPI document', () => {
  test('has every route of the app, and no other', () => {
    const parts = { maxBodyBytes: 1, version: '1' } as unknown as AppParts;
    const documented = operations.map(({ method, path }) => `${method} ${path}`);
    expect(routesOf(createApp(parts)).sort()).toEqual([...documented, ...describing].sort());
  });

  test('is clean to a linter', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const source = JSON.stringify(openApiDocument('1.0.0'));
    const problems = await lintFromString({ source, config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
      [],
    );
  });
});
