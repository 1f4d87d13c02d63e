import { defaultTenant, newExecId, parseProjectId } from '@secbox/contracts';
import { createPathAdapter, sandboxOwner, Workspace } from '@secbox/workspace';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, getuid } from 'node:process';
import { fileURLToPath } from 'node:url';
import { CliEngine } from './cli-engine.js';
import type { DockerCli } from './cli-process.js';
import type { Attachment, ContainerEngine, ContainerSpec } from './container-engine.js';
import { defaultDockerHost } from './endpoint.js';

export const seccompProfilePath = fileURLToPath(new URL('../../../docker/seccomp.json', import.meta.url));
export const dockerHost = env['DOCKER_HOST'] ?? defaultDockerHost;
export const imageReference = 'secbox/sandbox:latest';

export function cliOf(host: string, more: Record<string, string> = {}): DockerCli {
  return { program: 'docker', environment: { PATH: env['PATH'] ?? '', DOCKER_HOST: host, ...more } };
}

export function engineOf(cli: DockerCli): CliEngine {
  return new CliEngine(cli, { seccompProfilePath });
}

/** A data folder on a real engine, and what a test needs to run something in it. */
export class CliFixture {
  readonly cli = cliOf(dockerHost);
  readonly engine = engineOf(this.cli);
  readonly dataDir: string;
  readonly #imageId: string;

  private constructor(dataDir: string, imageId: string) {
    this.dataDir = dataDir;
    this.#imageId = imageId;
  }

  static async open(): Promise<CliFixture> {
    const image = await engineOf(cliOf(dockerHost)).findImage(imageReference);
    if (!image) throw new Error(`The engine does not have ${imageReference}; run "npm run image".`);
    return new CliFixture(await realpath(await mkdtemp(join(tmpdir(), 'secbox-cli-'))), image.id);
  }

  async close(): Promise<void> {
    for (const { id } of await this.engine.listOwned(this.dataDir)) await this.engine.remove(id);
    await rm(this.dataDir, { recursive: true });
  }

  async specOf(
    command: readonly string[],
    { root = join(this.dataDir, 'workspace'), ...changes }: Partial<ContainerSpec> & { root?: string } = {},
  ): Promise<ContainerSpec> {
    const workspace = await Workspace.open({
      paths: createPathAdapter({ mode: 'linux', roots: { workspace_root: root } }),
      ...(getuid?.() === 0 ? { owner: sandboxOwner } : {}),
    });
    const execId = newExecId();
    const { mounts } = workspace.prepare({
      tenant: defaultTenant,
      projectId: parseProjectId('project'),
      execId,
    });
    return {
      imageId: this.#imageId,
      runtime: 'runc',
      command,
      environment: {},
      workingDirectory: '/workspace/work',
      mounts,
      memoryBytes: 256 * 1024 ** 2,
      cpus: 0.75,
      pids: 64,
      readOnlyRoot: true,
      maxFileBytes: 64 * 1024 ** 2,
      owner: { purpose: 'exec', execId, dataDir: this.dataDir },
      ...changes,
    };
  }

  async run(spec: ContainerSpec, engine: ContainerEngine = this.engine) {
    const id = await engine.create(spec);
    const attachment = await engine.attach(id);
    await engine.start(id);
    attachment.input.end();
    const [output, end] = await Promise.all([readAll(attachment), engine.wait(id)]);
    await engine.remove(id);
    return { ...output, ...end };
  }
}

export async function readAll(attachment: Attachment): Promise<{ stdout: string; stderr: string }> {
  const text = { stdout: '', stderr: '' };
  for await (const { stream, data } of attachment.output) text[stream] += data.toString();
  return text;
}
