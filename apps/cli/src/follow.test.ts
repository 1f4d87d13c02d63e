import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SecboxClient } from '@secbox/client';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { secbox } from './secbox.js';
import { Terminal } from './terminal.js';

const execId = '5f0c6f0e-3b0a-4d3e-9a55-0d6f6f1f2a11';
const answered = {
  exec_id: execId,
  status: 'failed',
  exit_code: 2,
  error_reason: null,
  duration_ms: 5,
  artifacts: [],
  output: null,
  output_error: null,
};
const skill = { id: 'text.say', interface: { inputs: { type: 'object' }, outputs: { type: 'string' } } };

let server: Server;
let asked: string[];
/** Called once something was recorded, before that is answered. */
let onRecorded: () => void;
/** Called instead, where nothing is taken on: after how many seconds it may be. */
let turnAway: (() => number) | undefined;
beforeEach(async () => {
  asked = [];
  onRecorded = () => undefined;
  turnAway = undefined;
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      const { method = '', url: path = '' } = request;
      asked.push(`${method} ${path}`);
      const handsOver = path === '/sandbox/execs' || path.endsWith('/invoke');
      if (handsOver && turnAway) {
        const details = { retry_after_seconds: turnAway() };
        const error = { kind: 'rate_limited', code: 'queue_full', message: 'Later.', details };
        response.writeHead(429).end(JSON.stringify({ error }));
        return;
      }
      if (handsOver) onRecorded();
      if (path.endsWith('/events')) response.end(events);
      else response.end(JSON.stringify(path === '/skills/text.say' ? skill : answered));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.close();
});

const events = [
  `id: 1\nevent: stdout\ndata: ${JSON.stringify({ base64: Buffer.from('printed\n').toString('base64') })}\n\n`,
  `id: 2\nevent: state\ndata: ${JSON.stringify({ status: 'failed' })}\n\n`,
].join('');

function screen() {
  const state = { text: '' };
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      state.text += chunk.toString();
      done();
    },
  });
  return { state, stream: stream as never };
}

async function run(args: readonly string[], stopped: AbortSignal) {
  const [stdout, stderr] = [screen(), screen()];
  const { stdin } = process;
  const { port } = server.address() as AddressInfo;
  const code = await secbox(args, {
    terminal: new Terminal({ stdin, stdout: stdout.stream, stderr: stderr.stream, plain: true }),
    stopped,
    cwd: '/',
    root: '/',
    environment: {},
    connect: () => new SecboxClient({ url: `http://127.0.0.1:${port}` }),
  });
  return { code, stdout: stdout.state.text, stderr: stderr.state.text };
}

test.each([[['exec', 'true']], [['skill', 'run', 'text.say']]])(
  'interrupting %j while it is handed over cancels what was recorded meanwhile',
  async (args) => {
    const stopping = new AbortController();
    onRecorded = () => stopping.abort();
    expect(await run(args, stopping.signal)).toMatchObject({ code: 130, stderr: 'Interrupted.\n' });
    expect(asked.at(-1)).toBe(`POST /sandbox/execs/${execId}/cancel`);
  },
);

test.each([
  ['while it is handed over', 0],
  ['while it waits', 100],
])('what is to come later is not handed over again once it is interrupted %s', async (_, ms) => {
  const stopping = new AbortController();
  turnAway = () => {
    if (ms === 0) stopping.abort();
    else setTimeout(() => stopping.abort(), ms);
    return 0.5;
  };
  expect(await run(['exec', 'true'], stopping.signal)).toMatchObject({ code: 130, stderr: 'Interrupted.\n' });
  expect(asked).toEqual(['POST /sandbox/execs']);
});

test('what is interrupted before that is not handed over', async () => {
  expect((await run(['exec', 'true'], AbortSignal.abort())).code).toBe(130);
  expect(asked).toEqual([]);
});

test('what a skill of text printed is shown also where it fails', async () => {
  const { code, stdout, stderr } = await run(['skill', 'run', 'text.say'], new AbortController().signal);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(`printed\nfailed, exit code 2, 5 ms, ${execId}\n`);
});
