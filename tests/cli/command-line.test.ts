import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { commands, exitMeanings } from '@secbox/cli';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from '../../docker/setup/settings.mjs';
import { compileSecbox, runOnTerminal, runSecbox } from './run-secbox.js';

beforeAll(() => compileSecbox());
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-cli-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const here = () => ({ cwd: folder, env: { SECBOX_SKILLS_DIR: folder } });
// eslint-disable-next-line no-control-regex -- colours are control characters
const colours = /\u001b\[3[123]m/;

describe('help', () => {
  test('lists every command and exit code', async () => {
    const { code, stdout, stderr } = await runSecbox(['--help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const { name, summary } of commands) {
      expect(stdout).toContain(`  ${name} `.trimEnd());
      expect(stdout).toContain(summary);
    }
    for (const [exit, meaning] of exitMeanings) expect(stdout).toMatch(new RegExp(`  ${exit} +${meaning}`));
  });

  test.each(commands.map(({ name }) => name))('of %s has its usage and every option', async (name) => {
    const command = commands.find((each) => each.name === name);
    const { code, stdout } = await runSecbox([...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: secbox ${name}`));
    for (const option of Object.keys(command?.options ?? {})) expect(stdout).toContain(`--${option}`);
  });

  test('of a group has its commands', async () => {
    const { code, stdout } = await runSecbox(['help', 'skill']);
    expect([code, stdout.match(/^ {2}skill \w+/gm)]).toEqual([
      0,
      ['  skill new', '  skill lint', '  skill run', '  skill pack', '  skill push'],
    ]);
  });

  test('the README has the same commands and exit codes', () => {
    const page = readFileSync(join(repositoryRoot, 'apps/cli/README.md'), 'utf8');
    const told = [...page.matchAll(/^\| `?([\w ]+?)`? +\| (.+?) +\|/gm)].map(
      ([, first = '', second = '']) => [first, second],
    );
    const names = told.map(([name]) => name);
    expect(names.filter((name) => commands.some((each) => each.name === name))).toEqual(
      commands.map(({ name }) => name),
    );
    for (const [code, meaning] of exitMeanings) expect(told).toContainEqual([String(code), meaning]);
  });
});

describe('a wrong command line is told, with what was meant, and exits with 2', () => {
  test.each([
    [[], 'Usage: secbox'],
    [['skil'], 'Did you mean "skill"?'],
    [['skill', 'lnit'], 'Did you mean "skill lint"?'],
    [['frobnicate'], 'There are: skill, exec, audit, doctor.'],
    [['skill', 'lint', '--jason'], "Unknown option '--jason'"],
    [['skill', 'lint', 'no.such'], 'There is no folder'],
    [['skill', 'new'], 'Say the id'],
    [['skill', 'new', 'Bad_Id'], 'is no id'],
    [['skill', 'new', 'a.b', '--language', 'cobol'], 'python and bash'],
    [['skill', 'run'], 'Name one skill'],
    [['skill', 'run', 'json.query', '--timeout', 'soon'], '--timeout takes a whole number'],
    [['exec'], 'Say what to run'],
    [['exec', 'true', '--env', 'NOVALUE'], '--env takes name=value'],
    [['exec', 'true', '--file', '/nonexistent/file'], 'ENOENT'],
    [['exec', 'true', '--url', 'localhost:8003'], 'is not the URL of a server'],
    [['exec', 'true', '--key-file', '/nonexistent/key'], 'The key cannot be read'],
    [['audit', 'list', '--status', 'fine'], '--status takes one of queued'],
    [['audit', 'show'], 'Name one exec'],
    [['audit', 'export', '--format', 'xml'], '--format takes jsonl or csv'],
    [['doctor', 'please'], 'takes options only'],
  ])('%j', async (args, words) => {
    const { code, stdout, stderr } = await runSecbox(args);
    expect([code, stdout + stderr]).toEqual([2, expect.stringContaining(words)]);
  });

  test('what a server says of it steers no terminal', async () => {
    const hostile = 'x\u001b[2J\u202e\nsecbox: fine';
    const server = createServer((_request, response) => {
      const details = { problems: [{ pointer: `/${hostile}`, message: hostile, expected: hostile }] };
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ error: { kind: 'invalid', code: 'invalid_input', message: hostile, details } }),
      );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await runSecbox(['exec', 'true', '--url', `http://127.0.0.1:${port}`]);
    server.close();
    expect(code).not.toBe(0);
    expect(stderr).toContain('fine');
    expect(stderr.split('\n')).toHaveLength(3);
    expect(stderr).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  });

  test('a server that is not there exits with 3', async () => {
    const { code, stderr } = await runSecbox(['exec', 'true', '--url', 'http://127.0.0.1:1']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('was not reached')]);
  });
});

describe('skill new', () => {
  test.each(['python', 'bash'])('in %s makes one that lint has nothing against', async (language) => {
    const made = await runSecbox(
      [
        'skill',
        'new',
        'text.count',
        '--language',
        language,
        '--name',
        'Count',
        '--description',
        'Counts\u001b[2J words.',
      ],
      here(),
    );
    expect([made.code, made.stdout]).toEqual([0, 'text.count\n']);
    expect(made.stderr).toContain('npx secbox skill lint text.count');
    expect((await readdir(join(folder, 'text.count'))).sort()).toHaveLength(4);
    const manifest = await readFile(join(folder, 'text.count/manifest.json'), 'utf8');
    expect(JSON.parse(manifest)).toMatchObject({
      id: 'text.count',
      name: 'Count',
      description: 'Counts [2J words.',
    });
    const lint = await runSecbox(['skill', 'lint'], here());
    expect(lint).toEqual({ code: 0, stdout: '', stderr: '1 skill, 0 problems\n' });
    const again = await runSecbox(['skill', 'new', 'text.count'], here());
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('is there already')]);
    expect(await readdir(folder)).toEqual(['text.count']);
  });

  test('asks on a terminal for what is not given', async () => {
    const answers = 'text.asked\nAsked for\nTells what was asked.\nbash\n';
    const { code, stdout } = await runOnTerminal(['skill', 'new'], { ...here(), stdin: answers });
    expect([code, stdout]).toEqual([0, expect.stringContaining('What does it do?')]);
    const manifest = await readFile(join(folder, 'text.asked/manifest.json'), 'utf8');
    expect(JSON.parse(manifest)).toMatchObject({ name: 'Asked for', description: 'Tells what was asked.' });
    expect(await readdir(join(folder, 'text.asked'))).toContain('main.sh');
  });
});

describe('skill lint', () => {
  const spoil = async (change: (text: string) => string) => {
    await cp(join(repositoryRoot, 'skills/json.query'), join(folder, 'json.query'), { recursive: true });
    const file = join(folder, 'json.query/manifest.json');
    await writeFile(file, change(await readFile(file, 'utf8')));
  };

  test('tells everything that is wrong, as editors find it, and exits with 1', async () => {
    await spoil((text) => text.replace('"memory_mb"', '"memroy_mb"').replace('"docker"', '"podman"'));
    const { code, stdout, stderr } = await runSecbox(['skill', 'lint'], here());
    expect([code, stderr]).toEqual([1, '1 skill, 2 problems\n']);
    expect(stdout).toMatch(/^json\.query\/manifest\.json:\d+:\d+: \/runtime\/kind /m);
    expect(stdout).toMatch(
      /^json\.query\/manifest\.json:74:5: \/limits\/memroy_mb .*\n {4}found "memroy_mb"\n {4}expected .*\n {4}did you mean memory_mb\?$/m,
    );
    expect(stdout).not.toMatch(colours);
  });

  test('as JSON', async () => {
    await spoil((text) => text.replace('"json.query"', '"json.ask"'));
    await mkdir(join(folder, 'empty.one'));
    const { code, stdout } = await runSecbox(['skill', 'lint', '--json'], here());
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      problems: 2,
      skills: [
        { id: 'empty.one', valid: false, problems: [{ file: 'manifest.json' }] },
        { id: 'json.query', valid: false, problems: [{ pointer: '/id', line: 4, expected: '"json.query"' }] },
      ],
    });
  });

  test('looks at the examples and at hard ceilings too', async () => {
    await spoil((text) => text.replace('"timeout_ms": 20000', '"timeout_ms": 900000'));
    const cases = [
      { name: 'a', inputs: { document: 1, fitler: '.' }, expect: { status: 'succeeded' } },
      { name: 'b', inputs: { document: 1, filter: '.' }, expect: { refused: '/inputs' } },
      { nme: 'c' },
      { name: 'd', expect: null },
    ];
    const lines = cases.map((each) => JSON.stringify(each)).join(',\n');
    await writeFile(join(folder, 'json.query/tests/cases.json'), `[\n${lines}\n]`);
    const { code, stdout } = await runSecbox(['skill', 'lint', './json.query'], here());
    expect([code, stdout]).toEqual([1, expect.stringContaining('/limits/timeout_ms')]);
    for (const [index, place] of ['/0/inputs', '/1/expect/refused', '/2', '/3'].entries())
      expect(stdout).toMatch(new RegExp(`cases\\.json:${index + 2}:\\d+: ${place} `));
  });

  test('tells what can never be checked by, which is no error of its own', async () => {
    await spoil((text) => text.replace('"type": "integer"', '"type": "integer", "enum": []'));
    const { code, stdout, stderr } = await runSecbox(['skill', 'lint'], here());
    expect([code, stderr]).toEqual([1, '1 skill, 1 problem\n']);
    expect(stdout).toMatch(/\/enum allows no value\n {4}found \[\]\n {4}expected at least one value\n$/);
  });

  test('colours are for terminals, and only where they are wanted', async () => {
    await spoil((text) => text.replace('"docker"', '"podman"'));
    expect((await runOnTerminal(['skill', 'lint'], here())).stdout).toMatch(colours);
    const { env } = here();
    const plain = await runOnTerminal(['skill', 'lint'], { ...here(), env: { ...env, NO_COLOR: '1' } });
    expect([plain.code, plain.stdout]).toEqual([1, expect.stringContaining('/runtime/kind')]);
    expect(plain.stdout).not.toMatch(colours);
  });

  test("the repository's own skills are clean, by npx too", async () => {
    const env = { ...process.env, NODE_OPTIONS: '' };
    const { stderr } = await promisify(execFile)('npx', ['secbox', 'skill', 'lint'], {
      cwd: repositoryRoot,
      env,
    });
    expect(stderr).toMatch(/^\d+ skills, 0 problems$/m);
  });
});

test('docs/skills.md shows the digests of the skills that its commands make and run', async () => {
  await runSecbox(
    ['skill', 'new', 'text.count', '--description', 'Counts the words and lines of a text.'],
    here(),
  );
  const lint = await runSecbox(
    ['skill', 'lint', 'text.count', join(repositoryRoot, 'skills/json.query'), '--json'],
    here(),
  );
  const { skills } = JSON.parse(lint.stdout) as { skills: { id: string; digest: string }[] };
  const made = skills.find(({ id }) => id === 'text.count');
  const page = readFileSync(join(repositoryRoot, 'docs/skills.md'), 'utf8');
  expect(page.match(/(?<=, digest )[0-9a-f]{64}/g)).toEqual([made?.digest]);
  const called = page.matchAll(/"secbox\/skill_id": "(.+)",\s+"secbox\/skill_digest": "(.+)"/g);
  const told = [...called].map(([, id, digest]) => ({ id, digest }));
  expect(told).toHaveLength(2);
  for (const each of told) expect(skills).toContainEqual(expect.objectContaining(each));
});

describe('skill pack', () => {
  test('gives the same bytes for the same skill, which unpack to it', async () => {
    await runSecbox(['skill', 'new', 'text.count', '--language', 'bash'], here());
    await chmod(join(folder, 'text.count/main.sh'), 0o755);
    const first = await runSecbox(['skill', 'pack', 'text.count'], here());
    expect([first.code, first.stdout]).toEqual([0, `${join(folder, 'text.count.zip')}\n`]);
    expect(first.stderr).toMatch(/^4 files, .*digest [0-9a-f]{64}\n$/);
    await runSecbox(['skill', 'pack', './text.count', '--out', 'other.zip'], here());
    const [one, other] = await Promise.all(
      ['text.count.zip', 'other.zip'].map((name) => readFile(join(folder, name))),
    );
    expect(one?.equals(other ?? Buffer.alloc(0))).toBe(true);
    await mkdir(join(folder, 'unpacked'));
    const script = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])';
    await promisify(execFile)('python3', ['-c', script, join(folder, 'other.zip'), join(folder, 'unpacked')]);
    const lint = await runSecbox(['skill', 'lint', '--dir', join(folder, 'unpacked')]);
    expect(lint.stderr).toBe('1 skill, 0 problems\n');
  });

  test('takes no skill with problems', async () => {
    await mkdir(join(folder, 'bad.one'));
    const { code, stderr } = await runSecbox(['skill', 'pack', 'bad.one'], here());
    expect([code, stderr]).toEqual([1, expect.stringContaining('has 1 problem')]);
    expect(await readdir(folder)).toEqual(['bad.one']);
  });
});

describe('doctor', () => {
  test('without an engine and a server says what to do, and exits with 1', async () => {
    const env = {
      DOCKER_HOST: 'unix:///nonexistent.sock',
      SECBOX_URL: 'http://127.0.0.1:1',
      SECBOX_DATA_DIR: folder,
    };
    const { code, stdout, stderr } = await runSecbox(['doctor'], { env });
    expect([code, stderr]).toEqual([1, '1 problem\n']);
    expect(stdout).toMatch(/^✔ Node +v\d+/m);
    expect(stdout).toMatch(/^✘ engine .*\n +→ "npm start" brings one up/m);
    expect(stdout).toMatch(/^! server .*was not reached.*\n +→ Start it/m);
    const asJson = await runSecbox(['doctor', '--json'], { env });
    const { problems, findings } = JSON.parse(asJson.stdout) as {
      problems: number;
      findings: { about: string }[];
    };
    expect(problems).toBe(1);
    expect(findings.map(({ about }) => about)).toEqual([
      'Node',
      'data folder',
      'disk',
      'engine',
      'skills',
      'server',
    ]);
  });
});
