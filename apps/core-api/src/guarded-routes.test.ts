import { describe, expect, test } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { GuardedRoutes, type Guard } from './guarded-routes.js';
import type { RouteAccess } from './route-access.js';

const table: Readonly<Record<string, RouteAccess>> = {
  'GET /things': 'open',
  'POST /things': { roles: ['worker'], scope: 'tenant' },
  'GET /things/{thing_id}': 'open',
  'GET /things/{thing_id}/files/{path}': 'open',
};

/** Notes whom it was asked for, and lets only open routes pass. */
function noting(asked: string[]): Guard {
  return (route, access) => (_request, response, next) => {
    asked.push(route);
    if (access === 'open') next();
    else response.status(403).end();
  };
}

const open: Guard = () => (_request, _response, next) => next();

function appOf(guard: Guard, names = Object.keys(table)) {
  const routes = new GuardedRoutes(table, guard);
  for (const name of names) {
    routes.on(name, (incoming, response) => {
      response.json({ name, id: incoming.params['thing_id'] ?? null, path: incoming.path });
    });
  }
  const app = express();
  routes.mount(app);
  return app;
}

describe('guarded routes', () => {
  test('each is behind its guard, whatever the case, slash or method it is asked with', async () => {
    const asked: string[] = [];
    const app = appOf(noting(asked));
    for (const path of ['/things', '/THINGS', '/things/']) {
      expect((await request(app).post(path)).status).toBe(403);
      expect((await request(app).get(path)).body).toMatchObject({ name: 'GET /things' });
    }
    expect((await request(app).head('/things')).status).toBe(200);
    expect(asked).toEqual([
      ...Array.from({ length: 3 }, () => ['POST /things', 'GET /things']).flat(),
      'GET /things',
    ]);
  });

  test('read parameters, and a path that may hold anything', async () => {
    const app = appOf(open);
    expect((await request(app).get('/things/7')).body).toMatchObject({ id: '7' });
    const file = await request(app).get('/things/7/files/a/%ff%2f');
    expect(file.body).toEqual({
      name: 'GET /things/{thing_id}/files/{path}',
      id: null,
      path: '/things/7/files/a/%ff%2f',
    });
  });

  test('say which methods there are', async () => {
    const app = appOf(open);
    // Express turns the error into a 500 here; what counts is the header.
    expect((await request(app).delete('/things')).headers['allow']).toBe('GET, HEAD, POST');
  });

  test('a route that the table does not have cannot be made', () => {
    const routes = new GuardedRoutes(table, open);
    expect(() => routes.on('GET /others', () => undefined)).toThrow('GET /others has no entry');
    expect(() => routes.on('constructor', () => undefined)).toThrow('has no entry');
  });

  test('an app without a route of the table is not built', () => {
    expect(() => appOf(open, ['GET /things'])).toThrow('no routes for POST /things');
  });

  test('an app with a route that went past the guard is not built', () => {
    const routes = new GuardedRoutes({ 'GET /things': 'open' } as const, open);
    routes.on('GET /things', () => undefined);
    const app = express();
    app.get('/open', (_request, response) => void response.end());
    expect(() => routes.mount(app)).toThrow('/open has no guard');
  });
});
