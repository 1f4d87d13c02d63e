import { beforeEach, describe, expect, test } from '@jest/globals';
import { SecboxError } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import express from 'express';
import { PassThrough } from 'node:stream';
import request from 'supertest';
import { answerErrors } from '../answer-errors.js';
import { GuardedRoutes } from '../guarded-routes.js';
import type { RouteAccess } from '../route-access.js';
import { execRoutes, type ExecRoutesOptions } from './execs.js';

const logger = createLogger({ level: 'error', format: 'json', destination: new PassThrough().resume() });
const names = ['GET /sandbox/execs', 'POST /sandbox/execs'];
const ofOne = ['GET /sandbox/execs/{exec_id}', 'POST /sandbox/execs/{exec_id}/cancel'];
const table = Object.fromEntries([...names, ...ofOne].map((name): [string, RouteAccess] => [name, 'open']));

/** What is asked of the runner, in order. */
let asked: string[];
/** An exec has the key already. */
let isRepeat: boolean;
beforeEach(() => {
  asked = [];
  isRepeat = false;
});

function app() {
  const note = <T>(what: string, answer?: T) => Promise.resolve(void asked.push(what)).then(() => answer);
  const submitted = { execId: 'e', wait: () => Promise.resolve({ fresh: {} }) };
  const options = {
    runner: {
      submit: () => note('submit', submitted),
      findEarlier: () => note('findEarlier', isRepeat ? submitted : undefined),
      isTaken: () => Promise.resolve(isRepeat),
      openIntake: () => ({ discard: () => note('discard') }),
    },
    audit: { sees: () => Promise.resolve(true), answerFresh: () => ({ exec_id: 'e' }) },
    catalogue: {
      rules: (id: string) => {
        if (id === 'gone') throw new SecboxError('skill_not_found', 'There is no such skill.');
        return {};
      },
    },
    ...{ maxBodyBytes: 1000, maxUploadBytes: 1000 },
  } as unknown as ExecRoutesOptions;
  const routes = new GuardedRoutes(table, () => (_request, _response, next) => next());
  execRoutes(routes, options);
  const made = express();
  routes.mount(made);
  return made.use(answerErrors(logger));
}

const bodyOf = (skill?: string) => ({
  exec: { kind: 'shell', command: 'bash', args: ['-lc', 'true'] },
  ...(skill !== undefined && { skill_id: skill }),
});
const post = () => request(app()).post('/sandbox/execs').set('idempotency-key', 'k');

describe.each([
  ['JSON', [], (skill?: string) => post().send(bodyOf(skill))],
  ['several parts', ['discard'], (skill?: string) => post().field('request', JSON.stringify(bodyOf(skill)))],
])('a submission of %s', (_kind, left, submit) => {
  test('is looked up once, by what submits it', async () => {
    for (const repeat of [false, true]) {
      for (const skill of [undefined, 'there']) {
        [asked, isRepeat] = [[], repeat];
        expect((await submit(skill)).body).toEqual({ exec_id: 'e' });
        expect(asked).toEqual(['submit']);
      }
    }
  });

  test('whose skill is gone is refused, unless it is a repeat', async () => {
    expect((await submit('gone')).status).toBe(404);
    expect(asked).toEqual(['findEarlier', ...left]);
    [asked, isRepeat] = [[], true];
    expect((await submit('gone')).body).toEqual({ exec_id: 'e' });
    expect(asked).toEqual(['findEarlier', ...left]);
  });
});
