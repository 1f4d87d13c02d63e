import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import express, { Router } from 'express';
import { methodNotAllowed } from '../answer-errors.js';
import { openApiDocument } from '../openapi/document.js';

/** The viewer's own files, from its package: nothing is fetched from anywhere else. */
const viewer = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const viewerFiles = ['swagger-ui.css', 'swagger-ui-bundle.js'];

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
export function openApiRoutes(version: string): Router {
  const router = Router();
  const document = openApiDocument(version);

  router
    .route('/openapi.json')
    .get((_request, response) => {
      response.json(document);
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  router
    .route('/docs')
    .get((_request, response) => {
      response.set(pageHeaders).type('html').send(page);
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  router
    .route('/docs/show.js')
    .get((_request, response) => {
      response.set(pageHeaders).type('js').send(show);
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  const files = express.static(viewer, {
    index: false,
    setHeaders: (response) => void response.setHeader('x-content-type-options', 'nosniff'),
  });
  router.use('/docs', (request, response, next) => {
    if (viewerFiles.includes(request.path.slice(1))) files(request, response, next);
    else next();
  });

  return router;
}
