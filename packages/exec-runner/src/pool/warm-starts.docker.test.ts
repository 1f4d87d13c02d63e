import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { PassThrough } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  DockerodeEngine,
  defaultDockerHost,
  parseDockerHost,
  type ContainerPurpose,
} from '@secbox/container-engine';
import { createLogger } from '@secbox/logging';
import { createPathAdapter, sandboxOwner, Workspace } from '@secbox/workspace';
import { WarmStarts, type WarmReport, type WarmStartsOptions } from './warm-starts.js';

const whereFoldersAreMounted =
  process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;
const seccompProfile = readFileSync(new URL('../../../../docker/seccomp.json', import.meta.url), 'utf8');
const logger = createLogger({ level: 'error', format: 'json', destination: new PassThrough().resume() });
const endpoint = parseDockerHost(env['DOCKER_HOST'] ?? defaultDockerHost);
const imageReference = 'secbox/sandbox:latest';

/** The real engine, which starts none of what is held before it is let. */
class HeldEngine extends DockerodeEngine {
  readonly created: ContainerPurpose[] = [];
  readonly pooled: string[] = [];
  held: readonly ContainerPurpose[] = [];
  readonly #gate = new EventEmitter();
  readonly #open = once(this.#gate, 'open');
  /** Settles when somebody waits for a start. */
  readonly asked = once(this.#gate, 'asked');

  letStart(): void {
    this.#gate.emit('open');
  }

  override async create(...[spec]: Parameters<DockerodeEngine['create']>) {
    const { purpose } = spec.owner;
    this.created.push(purpose);
    const id = await super.create(spec);
    if (purpose === 'pool') this.pooled.push(id);
    return id;
  }

  override async start(id: string) {
    if (this.held.includes(this.pooled.includes(id) ? 'pool' : 'self-test')) {
      this.#gate.emit('asked');
      await this.#open;
    }
    return super.start(id);
  }
}

const memoryBytes = 128 * 1024 ** 2;
const usualOf = ({ id }: { readonly id: string }) => ({
  imageId: id,
  runtime: 'runc',
  memoryBytes,
  cpus: 1,
  pids: 16,
  readOnlyRoot: true,
  maxFileBytes: 1024 ** 2,
});

let dataDir: string;
let engine: HeldEngine;
let warm: WarmStarts | undefined;
let looked: number;
beforeEach(async () => {
  dataDir = await realpath(await mkdtemp(join(tmpdir(), 'secbox-warm-')));
  engine = new HeldEngine(endpoint, { seccompProfile });
  looked = 0;
});
afterEach(async () => {
  engine.letStart();
  await warm?.close();
  expect(await engine.listOwned(dataDir)).toEqual([]);
  await rm(dataDir, { recursive: true });
});

const findImage = async () => {
  looked += 1;
  const image = await engine.findImage(imageReference);
  if (!image) throw new Error(`There is no ${imageReference}.`);
  return image;
};

async function begin(
  more: Partial<Pick<WarmStartsOptions, 'size' | 'engineMemoryBytes' | 'maxAgeMs'>> = {},
): Promise<WarmStarts> {
  const paths = createPathAdapter({ mode: 'linux', roots: { workspace_root: join(dataDir, 'workspace') } });
  warm = new WarmStarts({
    engine,
    workspace: await Workspace.open({ paths, owner: sandboxOwner }),
    dataDir,
    logger,
    mountsProgram: env['SECBOX_MOUNTS_PROGRAM'],
    findImage,
    imageReference,
    usual: usualOf,
    size: () => 1,
    engineMemoryBytes: 1024 ** 4,
    ...more,
  });
  warm.begin();
  return warm;
}

async function untilWaiting(starts: WarmStarts, count: number): Promise<WarmReport> {
  for (;;) {
    const report = starts.report();
    if (report.warm && report.waiting === count && report.starting === 0) return report;
    if (!report.warm) expect(report.why).toBe('it is being tried');
    await pause(20);
  }
}

whereFoldersAreMounted('whether containers can wait', () => {
  test('is tried once, also when it takes so long that it is asked again meanwhile', async () => {
    engine.held = ['self-test'];
    const starts = await begin();
    await engine.asked;
    starts.refresh();
    while (looked < 2) await pause(5);
    // Time for a second trial, if there were one, to begin.
    await pause(200);
    engine.letStart();
    await untilWaiting(starts, 1);
    expect(engine.created).toEqual(['self-test', 'pool']);
  });

  test('is also a question of memory: so many wait as may have theirs', async () => {
    const starts = await begin({ size: () => 4, engineMemoryBytes: 4 * (2.5 * memoryBytes) });
    expect(await untilWaiting(starts, 2)).toMatchObject({ size: 2 });
    // Time for a third, if it were to come.
    await pause(200);
    expect(starts.report()).toMatchObject({ waiting: 2, starting: 0 });
  });

  test('is told when there is memory for none', async () => {
    const starts = await begin({ engineMemoryBytes: 4 * (memoryBytes - 1) });
    while (looked === 0 || starts.report().warm || whyOf(starts) === 'it is being tried') await pause(20);
    expect(whyOf(starts)).toBe('an exec gets 128 MB by default, and all that wait may have 127 MB together');
  });
});

whereFoldersAreMounted('containers that wait', () => {
  test('are replaced when they are old', async () => {
    const starts = await begin({ maxAgeMs: 500 });
    await untilWaiting(starts, 1);
    const [first] = engine.pooled;
    const there = async () => (await engine.listOwned(dataDir)).map(({ id }) => id);
    while ((await there()).includes(first ?? '')) await pause(50);
    await untilWaiting(starts, 1);
    expect(engine.pooled.length).toBeGreaterThan(1);
  });

  test('serve an exec that comes while they start', async () => {
    engine.held = ['pool'];
    const starts = await begin();
    await engine.asked;
    const taking = starts.take(usualOf(await findImage()));
    engine.letStart();
    const taken = await taking;
    expect(taken?.id).toBe(engine.pooled[0]);
    await untilWaiting(starts, 1);
    expect(engine.pooled).toHaveLength(2);
    expect(starts.report()).toMatchObject({ taken_total: 1, missed_total: 0 });
    if (taken) starts.discard(taken);
  });
});

function whyOf(starts: WarmStarts): string | undefined {
  const report = starts.report();
  return report.warm ? undefined : report.why;
}
