import { isAbsolute } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  listFormat,
  readImage,
  readInfo,
  readList,
  readState,
  serverFormat,
  stateFormat,
  wholeFormat,
  type ContainerState,
} from './cli-answers.js';
import { createCommand, updateCommand } from './cli-arguments.js';
import { CliAttachment } from './cli-attachment.js';
import { DockerCliError, isMissing } from './cli-failure.js';
import { DockerProgram, outputOf, type CliCommand, type DockerCli } from './cli-process.js';
import { startAttached } from './cli-start.js';
import { carryVariables } from './cli-variables.js';
import type {
  Attachment,
  ContainerEnd,
  ContainerEngine,
  ContainerId,
  ContainerLimits,
  ContainerSpec,
  EngineImage,
  EngineInfo,
  OwnedContainer,
  StartedContainer,
} from './container-engine.js';
import { labels } from './hardening.js';
import { unlessMissingRuntime } from './missing-runtime.js';
import { questionMs } from './question.js';
import { readStarts } from './start-events.js';

/** What every container gets, whatever its spec; the counterpart of `EngineHardening` for the program. */
export interface CliHardening {
  /** The absolute path of docker/seccomp.json, which the docker program reads itself at each create. */
  readonly seccompProfilePath: string;
}

const removalPollMs = 50;

/** Talks to the engine through the docker program, which behaves the same on Windows and in WSL. */
export class CliEngine implements ContainerEngine {
  readonly #docker: DockerProgram;
  readonly #seccompProfilePath: string;
  /** Attached, and not started yet. */
  readonly #attachments = new Map<ContainerId, CliAttachment>();

  constructor(cli: DockerCli, { seccompProfilePath }: CliHardening) {
    // The program reads "unconfined" and "builtin" as words, not as files.
    if (!isAbsolute(seccompProfilePath)) {
      throw new TypeError(`The path of the seccomp profile is not absolute: ${seccompProfilePath}`);
    }
    this.#docker = new DockerProgram(withoutConfiguration(cli, seccompProfilePath));
    this.#seccompProfilePath = seccompProfilePath;
  }

  async info(): Promise<EngineInfo> {
    // Without an engine `docker info` may say so and succeed; `docker version` fails.
    const [server, info] = await Promise.all([
      this.#docker.answerWithin(questionMs, ['version', serverFormat]),
      this.#docker.answerWithin(questionMs, ['info', wholeFormat]),
    ]);
    return readInfo(info, server);
  }

  async findImage(reference: string): Promise<EngineImage | undefined> {
    try {
      const command = ['image', 'inspect', wholeFormat, '--', reference] as const;
      return readImage(await this.#docker.answerWithin(questionMs, command));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async create(spec: ContainerSpec): Promise<ContainerId> {
    const creating = carryVariables(spec.environment, ({ options, environment }) =>
      this.#docker.answer(createCommand(spec, this.#seccompProfilePath, options), environment),
    );
    const answer = await unlessMissingRuntime(creating);
    const id = answer.trim();
    if (!/^[0-9a-f]{64}$/.test(id)) throw new Error('docker create did not print the id of a container.');
    return id;
  }

  /** A container has one attachment at a time: a later one takes the place of an earlier. */
  async attach(id: ContainerId): Promise<Attachment> {
    const { status } = await this.#stateOf(id);
    if (status !== 'created')
      throw new Error(`A container that is ${status} cannot be attached to any more.`);
    const attachment = new CliAttachment(
      (exitCode) => this.#checkEnd(id, exitCode),
      () => {
        if (this.#attachments.get(id) === attachment) this.#attachments.delete(id);
      },
    );
    this.#attachments.get(id)?.close();
    this.#attachments.set(id, attachment);
    return attachment;
  }

  async start(id: ContainerId): Promise<void> {
    const attachment = this.#attachments.get(id);
    if (attachment === undefined) {
      await unlessMissingRuntime(this.#docker.answer(['start', '--', id]));
      return;
    }
    this.#attachments.delete(id);
    const starting = startAttached(this.#docker, id, attachment, (started) => this.#stateOf(started));
    await unlessMissingRuntime(starting);
  }

  async setLimits(id: ContainerId, limits: ContainerLimits): Promise<void> {
    await this.#docker.answer(updateCommand(id, limits));
  }

  async wait(id: ContainerId): Promise<ContainerEnd> {
    const exitCode = Number(await this.#docker.answer(['wait', '--', id]));
    const { outOfMemory } = await this.#stateOf(id);
    return { exitCode, outOfMemory };
  }

  async kill(id: ContainerId): Promise<void> {
    await this.#unless(['kill', '--signal=KILL', '--', id], async () => {
      const status = await this.#statusOf(id);
      return status !== 'running' && status !== 'paused' && status !== 'restarting';
    });
  }

  async remove(id: ContainerId): Promise<void> {
    this.#attachments.get(id)?.close();
    await this.#unless(['rm', '--force', '--volumes', '--', id], () => this.#isGone(id));
  }

  async listOwned(dataDir: string): Promise<OwnedContainer[]> {
    // The program trims the values of filters, so whose a container is must be told from the answer.
    const answer = await this.#docker.answerWithin(questionMs, [
      'ps',
      '--all',
      '--no-trunc',
      `--filter=label=${labels.ours}`,
      listFormat,
    ]);
    return readList(answer)
      .filter((container) => container.dataDir === dataDir)
      .map(({ dataDir: _, ...container }) => container);
  }

  watchStarts(dataDir: string, since: Date, signal: AbortSignal): Promise<AsyncIterable<StartedContainer>> {
    const child = this.#docker.stream([
      'events',
      `--since=${since.toISOString()}`,
      '--filter=type=container',
      '--filter=event=start',
      `--filter=label=${labels.ours}`,
      wholeFormat,
    ]);
    signal.addEventListener('abort', () => child.kill(), { once: true });
    if (signal.aborted) child.kill();
    return Promise.resolve(readStarts(outputOf(child, 'events', signal), dataDir));
  }

  async #stateOf(id: ContainerId): Promise<ContainerState> {
    return readState(await this.#docker.answer(['container', 'inspect', stateFormat, '--', id]));
  }

  /** Undefined when there is no such container. */
  async #statusOf(id: ContainerId): Promise<string | undefined> {
    try {
      return (await this.#stateOf(id)).status;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** A refusal is fine when what was asked for is so already, which its wording tells less surely than a look. */
  async #unless(command: CliCommand, alreadySo: () => Promise<boolean>): Promise<void> {
    try {
      await this.#docker.answer(command);
    } catch (error) {
      if (!(error instanceof DockerCliError) || !(await alreadySo())) throw error;
    }
  }

  /** Waits while someone else is removing it. */
  async #isGone(id: ContainerId): Promise<boolean> {
    for (;;) {
      const status = await this.#statusOf(id);
      if (status !== 'removing') return status === undefined;
      await pause(removalPollMs);
    }
  }

  /** The program's exit code is the container's, unless the program failed; then the output is not whole. */
  async #checkEnd(id: ContainerId, exitCode: number | null): Promise<void> {
    const state = await this.#stateOf(id).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (state === undefined || (state.status !== 'running' && state.exitCode === exitCode)) return;
    throw new Error('The output of the container broke off before its end.');
  }
}

/**
 * The configuration of whoever runs us stays out of it: the program would pass its proxies, with their
 * passwords, on into every container. Its folder is one that does not exist, in a place where nobody can
 * make it who could not weaken the seccomp profile as well.
 */
function withoutConfiguration({ program, environment }: DockerCli, seccompProfilePath: string): DockerCli {
  return {
    program,
    environment: { ...environment, DOCKER_CONFIG: `${seccompProfilePath}.no-configuration` },
  };
}
