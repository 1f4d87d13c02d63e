import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ArtifactSummary, InvocationAnswer } from '@secbox/contracts';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../docker/setup/settings.mjs';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { invoke } from './invoke.js';

/** Every case of `skills/<id>/tests/cases.json`, in a real container. What a case expects may be a part of what comes. */
interface SkillCase {
  readonly name: string;
  readonly inputs: Record<string, unknown>;
  readonly expect: {
    /** The pointer of the first problem, when the inputs are refused. */
    readonly refused?: string;
    readonly status?: string;
    readonly exit_code?: number;
    readonly output?: Record<string, unknown>;
    readonly outputText?: string;
    readonly stderr?: string;
    readonly artifacts?: readonly ExpectedArtifact[];
  };
}

interface ExpectedArtifact {
  readonly path: string;
  readonly media_type?: string;
  readonly text?: string;
  readonly contains?: string;
  readonly lacks?: string;
  readonly png?: { readonly width: number; readonly height: number };
}

const folder = join(repositoryRoot, 'skills');
const skills = readdirSync(folder).filter((name) => !/^[_.]/.test(name));
const casesOf = (id: string) =>
  JSON.parse(readFileSync(join(folder, id, 'tests', 'cases.json'), 'utf8')) as SkillCase[];

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.close());

async function checkArtifact(expected: ExpectedArtifact, found: readonly ArtifactSummary[]): Promise<void> {
  const artifact = found.find(({ path }) => path === expected.path);
  if (expected.media_type !== undefined) expect(artifact?.media_type).toBe(expected.media_type);
  const response = await fetch(`${service.url}${artifact?.url ?? '/no-such-artifact'}`);
  expect(response.status).toBe(200);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (expected.text !== undefined) expect(bytes.toString('utf8')).toBe(expected.text);
  if (expected.contains !== undefined) expect(bytes.toString('utf8')).toContain(expected.contains);
  if (expected.lacks !== undefined) expect(bytes.toString('utf8')).not.toContain(expected.lacks);
  if (expected.png) {
    expect(bytes.subarray(0, 8)).toEqual(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
    expect({ width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }).toEqual(expected.png);
  }
}

test('the repository has its seven skills and those of its authors, each with a README', () => {
  const own = ['archive.inspect', 'chart.draw', 'csv.profile', 'json.query', 'python.run', 'shell.run'];
  expect(skills).toEqual(expect.arrayContaining([...own, 'text.search']));
  for (const id of skills) expect(readFileSync(join(folder, id, 'README.md'), 'utf8')).toContain(`# ${id}`);
});

describe.each(skills)('%s', (id) => {
  test.each(casesOf(id))('$name', async ({ inputs, expect: expected }) => {
    const { status, body } = await invoke(service.url, id, { inputs });
    if (expected.refused !== undefined) {
      expect(status).toBe(400);
      const { error } = body as { error: { code: string; details: { problems: { pointer: string }[] } } };
      expect([error.code, error.details.problems[0]?.pointer]).toEqual(['invalid_input', expected.refused]);
      return;
    }
    const answer = body as InvocationAnswer;
    expect([answer.status, answer.output_error, answer.stderr_tail]).toEqual([
      expected.status,
      null,
      expect.stringContaining(expected.stderr ?? ''),
    ]);
    expect(answer.exit_code).toBe(expected.exit_code ?? 0);
    if (expected.output) expect(answer.output).toMatchObject(expected.output);
    if (expected.outputText !== undefined)
      expect(JSON.stringify(answer.output)).toContain(expected.outputText);
    for (const artifact of expected.artifacts ?? []) await checkArtifact(artifact, answer.artifacts);
  });
});

test('the same inputs give the same files, to the byte', async () => {
  for (const [id, index, path] of [
    ['chart.draw', 0, 'chart.png'],
    ['csv.profile', 0, 'profile.svg'],
  ] as const) {
    const inputs = casesOf(id)[index]?.inputs ?? {};
    const hashes = new Set<string | undefined>();
    for (let run = 0; run < 2; run += 1) {
      const { body } = await invoke(service.url, id, { inputs });
      hashes.add((body as InvocationAnswer).artifacts.find((artifact) => artifact.path === path)?.sha256);
    }
    expect([...hashes]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
  }
});
