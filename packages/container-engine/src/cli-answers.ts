import type { ContainerId, EngineImage, EngineInfo, OwnedContainer } from './container-engine.js';
import {
  imageOf,
  infoOf,
  purposeOf,
  stateIn,
  type ImageAnswer,
  type InfoAnswer,
  type VersionAnswer,
} from './engine-answers.js';
import { labels } from './hardening.js';

/** What the docker program prints, and what we take from it. Each format stands beside its reader. */

export interface ContainerState {
  readonly status: string;
  readonly exitCode: number;
  readonly outOfMemory: boolean;
}

export const stateFormat = '--format={{json .State}}';

export function readState(answer: string): ContainerState {
  const { Status, ExitCode, OOMKilled } = JSON.parse(answer) as {
    Status: string;
    ExitCode: number;
    OOMKilled: boolean;
  };
  return { status: Status, exitCode: ExitCode, outOfMemory: OOMKilled };
}

export interface ListedContainer extends OwnedContainer {
  readonly dataDir: string;
}

type ListedTexts = [status: string, execId: string, dataDir: string, purpose: string];

/** Labels one by one: the program's own list of them is joined by commas, which their values may have too. */
export const listFormat = `--format=[${[
  '{{json .ID}}',
  '{{json .State}}',
  `{{json (.Label "${labels.execId}")}}`,
  `{{json (.Label "${labels.dataDir}")}}`,
  `{{json (.Label "${labels.ours}")}}`,
].join(',')}]`;

export function readList(answer: string): ListedContainer[] {
  return answer
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id, status, execId, dataDir, purpose] = JSON.parse(line) as [ContainerId, ...ListedTexts];
      return { id, execId, purpose: purposeOf(purpose), ...stateIn(status), dataDir };
    });
}

export const wholeFormat = '--format={{json .}}';

export function readImage(answer: string): EngineImage {
  return imageOf(JSON.parse(answer) as ImageAnswer);
}

export const serverFormat = '--format={{json .Server}}';

export function readInfo(info: string, server: string): EngineInfo {
  return infoOf(JSON.parse(info) as InfoAnswer, JSON.parse(server) as VersionAnswer);
}
