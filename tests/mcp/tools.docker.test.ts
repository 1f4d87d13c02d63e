import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CallToolResultSchema,
  ToolListChangedNotificationSchema,
  type CallToolResult,
  type Progress,
} from '@modelcontextprotocol/sdk/types.js';
import { SecboxClient } from '@secbox/client';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileService } from '../../docker/setup/compile.mjs';
import { repositoryRoot } from '../../docker/setup/settings.mjs';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { connect, roads, type Destination, type Road } from './roads.js';
import { writeSkill } from './write-skill.js';

let service: KeyedService;
let skills: string;
let destination: Destination;
let api: SecboxClient;

const slow = 'echo begun; for n in $(seq 3); do sleep 0.3; echo "step $n"; done; sleep "${WAIT:-0}"';
const rows = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'array',
  items: { $ref: '#/$defs/row' },
  $defs: { row: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } },
};

beforeAll(async () => {
  const { signal } = new AbortController();
  const env = { ...process.env, NODE_OPTIONS: '' };
  await compileService({
    root: repositoryRoot,
    env,
    signal,
    say: () => undefined,
    projects: ['apps/agent-worker'],
  });
  skills = await mkdtemp(join(tmpdir(), 'skills-'));
  await cp(join(repositoryRoot, 'skills'), skills, { recursive: true });
  await writeSkill(skills, { id: 'test.slow', script: `${slow}; echo ended` });
  await writeSkill(skills, { id: 'test.endless', script: 'echo begun; sleep 240' });
  await writeSkill(skills, { id: 'test.rows', script: `echo '[{"n": 1}, {"n": 2}]'`, outputs: rows });
  await writeSkill(skills, { id: 'test.broken', script: `echo '[{"n": "one"}]'`, outputs: rows });
  await writeSkill(skills, {
    id: 'test.files',
    script: 'cd ../artifacts; echo hi > a.txt; printf "\\0\\1" > "b ü.bin"',
  });
  service = await startKeyedService({ SECBOX_SKILLS_DIR: skills });
  const { key } = await service.makeKey('default', ['worker']);
  destination = { url: service.url, key };
  api = new SecboxClient(destination);
});
afterAll(async () => {
  await service.close();
  await rm(skills, { recursive: true });
});

const textOf = ({ content }: CallToolResult) =>
  content.map((part) => ('text' in part ? part.text : '')).join('\n');
const linksIn = ({ content }: CallToolResult) => content.filter((part) => part.type === 'resource_link');
const execOf = ({ _meta }: CallToolResult) => String(_meta?.['secbox/exec_id']);

describe.each(Object.keys(roads) as Road[])('over %s', (road) => {
  let client: Client;
  beforeAll(async () => {
    client = await connect(road, destination);
  });
  afterAll(() => client.close());

  const call = async (name: string, inputs: object = {}, more: object = {}) =>
    (await client.callTool({ name, arguments: { ...inputs }, ...more })) as CallToolResult;

  test('every valid skill is a tool, with what it takes and gives', async () => {
    const { tools } = await client.listTools();
    const { skills: listed } = await api.skills.page({ valid: 'true', limit: 1000 });
    expect(tools.map(({ name }) => name)).toEqual(['run_code', ...listed.map(({ id }) => `skill.${id}`)]);
    const query = tools.find(({ name }) => name === 'skill.json.query');
    expect(query).toMatchObject({
      title: 'Query JSON with jq',
      inputSchema: { type: 'object', required: ['filter'] },
      outputSchema: { type: 'object', required: ['results', 'truncated'] },
      annotations: { readOnlyHint: true, openWorldHint: false },
    });
    expect(JSON.stringify(query)).toContain('content_base64');
    expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: true });
  });

  test('a call gives what the skill promises, and is on record', async () => {
    const result = await call('skill.json.query', { document: { a: [1, 2, 3] }, filter: '.a | add' });
    expect(result.structuredContent).toEqual({ results: [6], truncated: false });
    expect(JSON.parse(textOf(result))).toEqual({ results: [6], truncated: false });
    expect(linksIn(result)).toEqual([]);
    expect(await api.execs.get(execOf(result))).toMatchObject({
      skill_id: 'json.query',
      status: 'succeeded',
    });
  });

  test('an output that is no object is the one property of such', async () => {
    await client.listTools();
    const result = await call('skill.test.rows');
    expect(result.structuredContent).toEqual({ output: [{ n: 1 }, { n: 2 }] });
    const slowly = await call('skill.test.slow');
    expect(slowly.structuredContent).toEqual({ output: 'begun\nstep 1\nstep 2\nstep 3\nended\n' });
  });

  test('files that it leaves behind are linked and can be read', async () => {
    const result = await call('skill.test.files');
    expect(linksIn(result)).toMatchObject([
      { name: 'a.txt', mimeType: 'text/plain', size: 3 },
      { name: 'b ü.bin', size: 2 },
    ]);
    const [text, binary] = await Promise.all(linksIn(result).map(({ uri }) => client.readResource({ uri })));
    expect(text?.contents).toMatchObject([{ mimeType: 'text/plain', text: 'hi\n' }]);
    expect(binary?.contents).toMatchObject([{ blob: 'AAE=' }]);
    const again = { exec_id: execOf(result), path: 'a.txt' };
    const found = await call('skill.text.search', { pattern: 'hi', files: [again] });
    expect(JSON.stringify(found.structuredContent)).toContain('"hi"');
    const folder = `secbox://execs/${execOf(result)}/artifacts`;
    for (const uri of [`${folder}/none`, 'secbox://else', 'file:///etc/passwd']) {
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
    }
    // Each of these URLs is answered, but is no artifact.
    for (const path of [
      '../../../../skills',
      '%2e%2E/%2e./../../skills',
      '..',
      'a.txt?x=1',
      'a.txt#b',
      'x/..\\a.txt',
    ]) {
      await expect(client.readResource({ uri: `${folder}/${path}` })).rejects.toMatchObject({ code: -32602 });
    }
  });

  test('bad input is told with every wrong place, and nothing runs', async () => {
    const before = await api.audit.stats();
    const result = await call('skill.json.query', { document: 1, max_results: 0, fitler: '.' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('invalid_input');
    expect(textOf(result)).toContain('/inputs/max_results');
    expect(textOf(result)).toContain('fitler');
    expect((await api.audit.stats()).total.execs).toBe(before.total.execs);
  });

  test('a skill that fails, and one that breaks its promise, are errors that say why', async () => {
    const failed = await call('skill.json.query', { document: 1, filter: 'not jq (' });
    expect([failed.isError, failed.structuredContent]).toEqual([true, undefined]);
    expect(textOf(failed)).toContain('failed with exit code 2');
    expect(textOf(failed)).toContain('The filter is not one that jq understands');
    const broken = await call('skill.test.broken');
    expect(broken.isError).toBe(true);
    expect(textOf(broken)).toContain('broke its own promise');
  });

  test.each(['skill.none.such', 'json.query', 'skill.', 'skill.../etc', '__proto__'])(
    'there is no tool %s',
    async (name) => {
      await expect(call(name)).rejects.toMatchObject({ code: -32602 });
    },
  );

  test('progress grows, and tells of state and output', async () => {
    const told: Progress[] = [];
    await client.callTool({ name: 'skill.test.slow', arguments: {} }, CallToolResultSchema, {
      onprogress: (progress) => told.push(progress),
    });
    const numbers = told.map(({ progress }) => progress);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    const messages = told.map(({ message }) => message);
    expect(messages).toContain('running');
    expect(messages).toEqual(expect.arrayContaining([expect.stringMatching(/^step [123]$/)]));
  });

  test('cancelling in the middle ends the exec', async () => {
    const cancelling = new AbortController();
    const calling = client.callTool({ name: 'skill.test.endless', arguments: {} }, CallToolResultSchema, {
      signal: cancelling.signal,
      onprogress: ({ message }) => message === 'begun' && cancelling.abort('enough'),
    });
    await expect(calling).rejects.toThrow('enough');
    const [exec] = (await api.audit.page({ skill_id: 'test.endless', limit: 1 })).execs;
    expect(await api.execs.wait(exec?.exec_id ?? '')).toMatchObject({ status: 'cancelled' });
  });

  test('a client that leaves ends nothing', async () => {
    const leaving = await connect(road, destination);
    const begun = new Promise<void>((resolve) => {
      const options = { onprogress: ({ message }: Progress) => message === 'begun' && resolve() };
      const calling = leaving.callTool(
        { name: 'skill.test.endless', arguments: {} },
        CallToolResultSchema,
        options,
      );
      calling.catch(() => undefined);
    });
    await begun;
    await leaving.close();
    const [exec] = (await api.audit.page({ skill_id: 'test.endless', limit: 1 })).execs;
    // Were it cancelled, this would be later than that.
    await call('skill.json.query', { document: 1, filter: '.' });
    expect(await api.execs.get(exec?.exec_id ?? '')).toMatchObject({ status: 'running' });
    await api.execs.cancel(exec?.exec_id ?? '');
  });

  test('a skill that is added is told, listed and called', async () => {
    const id = `added.over${road}`;
    const changed = new Promise<void>((resolve) => {
      client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
        const { tools } = await client.listTools();
        if (tools.some(({ name }) => name === `skill.${id}`)) resolve();
      });
    });
    // Whoever listens only now would be told of the next change.
    await client.ping();
    await writeSkill(skills, { id, script: 'echo new' });
    await changed;
    expect(await call(`skill.${id}`)).toMatchObject({ structuredContent: { output: 'new\n' } });
  });

  test('the project and what a call is for may be said beside the inputs', async () => {
    const script = 'echo kept > kept; ls';
    const _meta = { 'secbox/project_id': `mcp-${road}`, 'secbox/task_ref': { task_id: 'task-1' } };
    const result = await call('skill.shell.run', { script }, { _meta });
    expect(await api.execs.get(execOf(result))).toMatchObject({
      project_id: `mcp-${road}`,
      task_id: 'task-1',
    });
    const refused = await call('skill.shell.run', { script }, { _meta: { 'secbox/project_id': '../etc' } });
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining('project_id')]);
  });

  test('names without dots', async () => {
    const plain = await connect(road, { ...destination, naming: 'underscores' });
    try {
      const { tools } = await plain.listTools();
      expect(tools.map(({ name }) => name)).toContain('skill_json_query');
      expect(tools.filter(({ name }) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name))).toEqual([]);
      const inputs = { document: [1], filter: '.[0]' };
      const result = await plain.callTool({ name: 'skill_json_query', arguments: inputs });
      expect(result.structuredContent).toMatchObject({ results: [1] });
      await expect(plain.callTool({ name: 'skill.json.query', arguments: inputs })).rejects.toMatchObject({
        code: -32602,
      });
    } finally {
      await plain.close();
    }
  });
});
