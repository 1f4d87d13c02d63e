import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { GuardedRoutes } from '../guarded-routes.js';
import { openApiDocument } from '../openapi/document.js';
import type { RouteName } from '../route-access.js';

/** The viewer's own files, from its package: nothing is fetched from anywhere else. */
const viewer = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const viewerFiles = ['swagger-ui.css', 'swagger-ui-bundle.js'] as const;

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Secbox API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="api"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/show.js"></script>
  </body>
</html>
`;
const show = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#api', validatorUrl: null });\n`;

const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
} as const;

/** What the API is, for programs and for people. */
export function openApiRoutes(routes: GuardedRoutes<RouteName>, version: string): void {
  const document = openApiDocument(version);

  routes.on('GET /openapi.json', (_request, response) => {
    response.json(document);
  });

  routes.on('GET /docs', (_request, response) => {
    response.set(pageHeaders).type('html').send(page);
  });

  routes.on('GET /docs/show.js', (_request, response) => {
    response.set(pageHeaders).type('js').send(show);
  });

  for (const file of viewerFiles) {
    routes.on(`GET /docs/${file}`, (_request, response) => {
      response.sendFile(file, { root: viewer });
    });
  }
}
