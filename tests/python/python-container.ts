import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { MountSource } from '@secbox/workspace';
import type { Attachment, ContainerSpec } from '../../packages/container-engine/src/container-engine.js';
import { DockerodeEngine } from '../../packages/container-engine/src/dockerode-engine.js';
import { parseDockerHost } from '../../packages/container-engine/src/endpoint.js';
import { initPath } from '../../packages/container-engine/src/init-image.js';
import { type InitOutcome, InitSession } from '../../packages/container-engine/src/init/init-session.js';
import type { StartKind } from '../../packages/container-engine/src/init/protocol.js';
import type { Program } from './program.js';

const imageReference = process.env['SECBOX_TEST_IMAGE'] ?? 'secbox/sandbox:latest';
const sandboxUid = 1000;
const sigkill = 9;

export interface Ran {
  readonly outcome: InitOutcome;
  readonly start: StartKind | undefined;
  readonly pid: number | undefined;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** From the request to init's last frame. */
  readonly millis: number;
}

/** Containers as the runner makes them, with or without a python that is up. */
export class PythonContainers {
  readonly #engine: DockerodeEngine;
  readonly #folder: string;
  readonly #image: { readonly id: string; readonly environment: Readonly<Record<string, string>> };
  readonly #ids = new Set<string>();

  private constructor(
    engine: DockerodeEngine,
    folder: string,
    image: { readonly id: string; readonly environment: Readonly<Record<string, string>> },
  ) {
    this.#engine = engine;
    this.#folder = folder;
    this.#image = image;
  }

  static async open(): Promise<PythonContainers> {
    const dockerHost = process.env['DOCKER_HOST'];
    if (dockerHost === undefined) throw new Error('These tests need an engine: set DOCKER_HOST.');
    const profile = new URL('../../docker/seccomp.json', import.meta.url);
    const engine = new DockerodeEngine(parseDockerHost(dockerHost), {
      seccompProfile: readFileSync(profile, 'utf8'),
    });
    const image = await engine.findImage(imageReference);
    if (!image) throw new Error(`The engine does not have ${imageReference}; run "npm run image".`);
    const folder = await mkdtemp(join(tmpdir(), 'secbox-python-'));
    await mkdir(join(folder, 'inputs'));
    return new PythonContainers(engine, folder, image);
  }

  /** What the image sets, as every exec has it. */
  get environment(): Readonly<Record<string, string>> {
    return this.#image.environment;
  }

  /** Lays a program's files where every container sees them; `$` in its arguments is that folder. */
  async install(program: Program, number: number): Promise<Program> {
    const own = `program-${number}`;
    await mkdir(join(this.#folder, 'inputs', own));
    for (const [path, content] of Object.entries(program.files ?? {})) {
      const target = join(this.#folder, 'inputs', own, path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content);
    }
    const inside = `/workspace/inputs/${own}`;
    const args = program.args.map((argument) => argument.replace(/^\$(?=\/|$)/, inside));
    const { cwd } = program;
    return { ...program, args, ...(cwd === undefined ? {} : { cwd: cwd.replace(/^\$/, inside) }) };
  }

  async start(changes: Partial<ContainerSpec> = {}): Promise<PythonContainer> {
    const own = await mkdtemp(join(this.#folder, 'container-'));
    const folders = {
      inputs: join(this.#folder, 'inputs'),
      work: join(own, 'work'),
      artifacts: join(own, 'artifacts'),
    };
    for (const made of [folders.work, folders.artifacts]) {
      await mkdir(made);
      if (process.getuid?.() === 0) await chown(made, sandboxUid, sandboxUid);
    }
    const id = await this.#engine.create({
      imageId: this.#image.id,
      runtime: 'runc',
      command: [initPath],
      environment: {},
      workingDirectory: '/workspace/work',
      mounts: folders as Record<keyof typeof folders, MountSource>,
      memoryBytes: 256 * 1024 ** 2,
      cpus: 1,
      pids: 64,
      readOnlyRoot: true,
      maxFileBytes: 64 * 1024 ** 2,
      owner: { purpose: 'self-test', dataDir: this.#folder },
      ...changes,
    });
    this.#ids.add(id);
    const attachment = await this.#engine.attach(id);
    await this.#engine.start(id);
    return new PythonContainer(id, attachment, this.environment, async () => {
      attachment.close();
      await this.#engine.remove(id);
      this.#ids.delete(id);
    });
  }

  /** One program in one container, which python is up in first if it is to be. */
  async run(program: Program, how: StartKind): Promise<Ran> {
    const container = await this.start(how === 'ahead' ? { prestart: 'python' } : {});
    try {
      const warm = await container.session.warm();
      if (warm !== (how === 'ahead')) throw new Error(`Python is ${warm ? '' : 'not '}up.`);
      return await container.run(program);
    } finally {
      await container.remove();
    }
  }

  async close(): Promise<void> {
    for (const id of this.#ids) await this.#engine.remove(id);
    await rm(this.#folder, { recursive: true });
  }
}

export class PythonContainer {
  readonly session: InitSession;
  readonly #environment: Readonly<Record<string, string>>;
  #raw: Program['raw'];

  constructor(
    readonly id: string,
    attachment: Attachment,
    environment: Readonly<Record<string, string>>,
    readonly remove: () => Promise<void>,
  ) {
    this.#environment = environment;
    this.session = new InitSession({
      output: stdoutOf(attachment),
      write: (bytes) =>
        new Promise((resolve, reject) => {
          attachment.input.write(replaced(bytes, this.#raw), (error) => {
            if (error) reject(error);
            else resolve();
          });
        }),
      close: () => attachment.input.end(),
    });
  }

  async run(program: Program): Promise<Ran> {
    const parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let start: StartKind | undefined;
    let pid: number | undefined;
    let { signal } = program;
    this.#raw = program.raw;
    const keep = (stream: 'stdout' | 'stderr') => (data: Buffer) => {
      parts[stream].push(Buffer.from(data));
      if (signal === undefined) return undefined;
      const sent = this.session.kill(signal, signal === sigkill ? 0 : 10_000);
      signal = undefined;
      return sent;
    };
    const request = requestOf(program, this.#environment);
    const sinks = {
      stdout: keep('stdout'),
      stderr: keep('stderr'),
      started: (told: number, kind: StartKind) => {
        pid = told;
        start = kind;
      },
    };
    const begun = performance.now();
    const stdin = program.stdin === undefined ? undefined : once(Buffer.from(program.stdin));
    const outcome = await this.session.run(request, sinks, stdin);
    const millis = performance.now() - begun;
    const { stdout, stderr } = parts;
    return { outcome, start, pid, millis, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) };
  }
}

/** What is asked of an init for this program. */
export function requestOf(program: Program, environment: Readonly<Record<string, string>>) {
  return {
    argv: [program.command ?? 'python', ...program.args],
    cwd: program.cwd ?? '/workspace/work',
    env: { ...environment, ...program.env },
    umask: program.umask ?? 0o022,
    rlimits: program.rlimits ?? {},
  };
}

async function* stdoutOf(attachment: Attachment): AsyncGenerator<Buffer> {
  for await (const { stream, data } of attachment.output) if (stream === 'stdout') yield data;
}

async function* once(data: Buffer): AsyncGenerator<Buffer> {
  if (data.length > 0) yield await Promise.resolve(data);
}

export function replaced(bytes: Uint8Array, raw: Program['raw']): Buffer {
  const at = raw === undefined ? -1 : Buffer.from(bytes).indexOf(raw[0]);
  if (raw === undefined || at < 0) return Buffer.from(bytes);
  const copy = Buffer.from(bytes);
  raw[1].copy(copy, at);
  return copy;
}
