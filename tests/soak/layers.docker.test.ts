import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { zipOf } from '../../packages/skill-layers/src/testing/zip-of.js';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { seedBaseline } from '../layers/layered-service.js';
import { startServer } from '../lifecycle/server-process.js';
import { pooled } from '../pool/pooled.js';
import { SeededRandom } from './seeded-random.js';

/** `npm run soak:layers` sets these; in npm test a short run must do. */
const seconds = Number(process.env['SOAK_LAYERS_SECONDS'] ?? 8);
const seed = Number(process.env['SOAK_LAYERS_SEED'] ?? 1);
const people = 64;
const parts = ['one', 'two', 'three'] as const;
const lines = 500;
const base = '/v1/skills';
/** What the API says may happen to whoever does all this at once. */
const documented: Readonly<Record<number, readonly string[]>> = {
  409: ['baseline_moved'],
  429: ['queue_full', 'too_many_requests', 'too_many_uploads'],
};

let dataDir: string;
let server: Awaited<ReturnType<typeof startServer>>;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-soak-'));
  const files = Object.fromEntries(parts.map((name) => [`${name}.txt`, 'v0\n'.repeat(lines)]));
  await seedBaseline(dataDir, { shared: { 'SKILL.md': '# Shared\n', ...files } }, 'agent');
  server = await startServer({ SECBOX_DATA_DIR: dataDir, SECBOX_LOG_LEVEL: 'error', ...pooled(4) });
  const put = await fetch(`${server.url}/settings`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'if-match': '"0"' },
    body: JSON.stringify({ quotas: { requests_per_minute: 1_000_000 } }),
  });
  if (put.status !== 200) throw new Error(await put.text());
});
afterEach(async () => {
  await server.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
});

/** One word in every line, and nothing else: a mixture of two versions has two. */
function wordOf(text: string): string {
  const words = new Set(text.split('\n').slice(0, -1));
  expect([...words]).toHaveLength(1);
  expect(text.split('\n')).toHaveLength(lines + 1);
  return [...words][0] ?? '';
}

interface Answer {
  readonly status: string;
  readonly data: unknown;
}

const doings = ['read', 'list', 'edit', 'sync', 'read', 'list', 'edit', 'execute'] as const;

class Person {
  readonly #random: SeededRandom;
  readonly #url: string;
  /** By what was done and the status of the answer. */
  readonly counts: Record<string, number> = {};
  #edits = 0;
  /** The last one that was said to be kept: a person does one thing after the other, so it is what is there. */
  #kept: string | undefined;

  constructor(
    url: string,
    readonly name: string,
    seed: number,
  ) {
    this.#url = `${url}${base}/${name}/agent`;
    this.#random = new SeededRandom(seed);
  }

  async work(until: number): Promise<void> {
    while (performance.now() < until) {
      await this[this.#random.pick(doings)]();
      await sleep(this.#random.between(20, 300));
    }
  }

  async read(): Promise<void> {
    const answer = await this.#call('read', 'GET', `shared/content?path=${this.#random.pick(parts)}.txt`);
    if (answer) wordOf((answer.data as { content: string }).content);
    await this.readMine();
  }

  async list(): Promise<void> {
    const answer = await this.#call('list', 'GET', 'shared/files');
    const files = answer?.data as string[] | undefined;
    if (files) expect(files).toEqual(expect.arrayContaining(parts.map((part) => `${part}.txt`)));
    const skills = (await this.#call('list', 'GET', 'list'))?.data as { id: string }[] | undefined;
    if (skills) expect(skills.map(({ id }) => id)).toEqual(['shared']);
  }

  async edit(): Promise<void> {
    this.#edits += 1;
    const word = `${this.name}-${this.#edits}`;
    const answer = await this.#call('edit', 'PUT', 'shared/edit?path=mine.txt', `${word}\n`.repeat(lines));
    if (answer) this.#kept = word;
    await this.readMine();
  }

  async readMine(): Promise<void> {
    if (this.#kept === undefined) return;
    const read = await this.#call('read', 'GET', 'shared/content?path=mine.txt');
    if (read) expect(wordOf((read.data as { content: string }).content)).toBe(this.#kept);
  }

  async sync(): Promise<void> {
    await this.#call('sync', 'POST', 'shared/sync?keep=mine');
  }

  /** From inside, all parts are of one version, whatever the author does meanwhile. */
  async execute(): Promise<void> {
    const script = 'cat one.txt two.txt three.txt; echo done > made.txt';
    const args = JSON.stringify(['-c', script]);
    const answer = await this.#call('execute', 'POST', 'shared/execute?command=bash', args, {
      'content-type': 'application/json',
    });
    if (!answer) return;
    const { exit_code: code, stdout } = answer.data as { exit_code: number; stdout: string };
    expect(code).toBe(0);
    const length = stdout.length / parts.length;
    const seen = parts.map((_, n) => wordOf(stdout.slice(n * length, (n + 1) * length)));
    expect(new Set(seen).size).toBe(1);
  }

  /** Publishes the next version: every part at once, or none. Whether it is the baseline now. */
  async publish(version: number): Promise<boolean> {
    const files = Object.fromEntries(parts.map((part) => [`${part}.txt`, `v${version}\n`.repeat(lines)]));
    const form = new FormData();
    form.set('file', new Blob([zipOf('shared', { 'SKILL.md': '# Shared\n', ...files })]), 'shared.zip');
    if (!(await this.#call('upload', 'POST', 'upload', form))) return false;
    return (await this.#call('baseline', 'POST', 'shared/baseline?force=true')) !== undefined;
  }

  /** Undefined for what may be refused. */
  async #call(
    doing: string,
    method: string,
    path: string,
    body?: string | FormData,
    headers: Record<string, string> = typeof body === 'string' ? { 'content-type': 'text/plain' } : {},
  ): Promise<Answer | undefined> {
    const response = await fetch(`${this.#url}/${path}`, {
      method,
      ...(body === undefined ? {} : { body, headers }),
    });
    const text = await response.text();
    const answered = `${doing} ${response.status}`;
    this.counts[answered] = (this.counts[answered] ?? 0) + 1;
    if (response.status === 200) return JSON.parse(text) as Answer;
    const code = documented[response.status] && (JSON.parse(text) as { data: { code: string } }).data.code;
    if (code !== undefined && documented[response.status]?.includes(code)) return undefined;
    throw new Error(`${method} ${path}: ${response.status} ${text}`);
  }
}

test(
  `${people} people edit, list and execute for ${seconds} s while an author publishes every second`,
  async () => {
    const persons = Array.from(
      { length: people },
      (_, n) => new Person(server.url, `u${n}`, seed * 1000 + n),
    );
    const author = new Person(server.url, 'author', seed);
    const until = performance.now() + seconds * 1000;
    let versions = 0;
    const publishing = (async () => {
      for (let number = 1; performance.now() < until; number += 1) {
        const next = performance.now() + 1000;
        if (await author.publish(number)) versions += 1;
        await sleep(Math.max(0, next - performance.now()));
      }
    })();
    await Promise.all([publishing, ...persons.map((person) => person.work(until))]);
    for (const person of persons) await person.readMine();
    const counts: Record<string, number> = {};
    for (const person of [...persons, author]) {
      for (const [answered, count] of Object.entries(person.counts))
        counts[answered] = (counts[answered] ?? 0) + count;
    }
    if (process.env['SOAK_LAYERS_SECONDS'] !== undefined)
      process.stdout.write(`seed ${seed}: ${JSON.stringify(counts)}, ${versions} versions\n`);
    // What is refused shows nothing: each was done, so often that only what hangs does not reach it.
    for (const doing of doings) expect(counts[`${doing} 200`]).toBeGreaterThanOrEqual(seconds / 4);
    expect(versions).toBeGreaterThanOrEqual(seconds / 8);

    const execs = join(dataDir, 'workspace', 'product', 'skill', '.execs');
    for (let tries = 0; tries < 100 && (await readdir(execs)).length > 0; tries += 1) await sleep(100);
    expect(await readdir(execs)).toEqual([]);
    await server.end('SIGTERM');
    expect(mountsBelow(dataDir)).toEqual([]);
  },
  (seconds + 120) * 1000,
);
