import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SecboxClient } from '@secbox/client';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../../docker/setup/settings.mjs';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { writeSkill } from '../mcp/write-skill.js';
import { compileSecbox, runSecbox, type SecboxOptions } from './run-secbox.js';

let service: KeyedService;
let folder: string;
let skills: string;
let worker: string;
let auditor: string;
let api: SecboxClient;

beforeAll(async () => {
  await compileSecbox();
  folder = await mkdtemp(join(tmpdir(), 'secbox-cli-'));
  skills = join(folder, 'skills');
  await cp(join(repositoryRoot, 'skills'), skills, { recursive: true });
  service = await startKeyedService({ SECBOX_SKILLS_DIR: skills });
  worker = (await service.makeKey('default', ['worker'])).key;
  auditor = (await service.makeKey('default', ['auditor'])).key;
  api = new SecboxClient({ url: service.url, key: worker });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

const secbox = (args: readonly string[], { env = {}, ...more }: SecboxOptions = {}) =>
  runSecbox(args, { cwd: folder, env: { SECBOX_URL: service.url, SECBOX_KEY: worker, ...env }, ...more });

/** Once the server has it. */
async function valid(id: string): Promise<void> {
  while (!(await api.skills.page({ q: id })).skills[0]?.valid)
    await new Promise((later) => setTimeout(later, 20));
}

describe('skill run', () => {
  test('shows the output, what was printed and how it ended', async () => {
    const args = [
      'skill',
      'run',
      'json.query',
      '--input',
      'filter=.a | add',
      '--input',
      'document={"a": [1, 2]}',
    ];
    const { code, stdout, stderr } = await secbox(args);
    expect([code, JSON.parse(stdout)]).toEqual([0, { results: [3], truncated: false }]);
    expect(stderr).toMatch(/^succeeded, \d+ ms, [0-9a-f-]{36}\n$/);
  });

  test('of text shows what it printed as it comes, and the text as the output', async () => {
    await writeSkill(skills, {
      id: 'try.text',
      script: 'echo said; exit "$(jq .code "$SECBOX_INPUT")"',
      inputs: { type: 'object' },
    });
    await valid('try.text');
    const good = await secbox(['skill', 'run', 'try.text', '--input', 'code=0']);
    expect(good).toMatchObject({
      code: 0,
      stdout: 'said\n',
      stderr: expect.stringMatching(/^said\nsucceeded, /),
    });
    const failed = await secbox(['skill', 'run', 'try.text', '--input', 'code=3']);
    expect(failed).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^said\nfailed, exit code 3/),
    });
  });

  test.each(['python', 'bash'])('a new skill in %s does what its examples say', async (language) => {
    const id = `new.${language}`;
    expect((await secbox(['skill', 'new', id, '--language', language])).code).toBe(0);
    await valid(id);
    const cases = JSON.parse(await readFile(join(skills, id, 'tests/cases.json'), 'utf8')) as {
      readonly inputs: object;
      readonly expect: { readonly output?: object; readonly exit_code?: number; readonly stderr?: string };
    }[];
    for (const { inputs, expect: expected } of cases) {
      const { code, stdout, stderr } = await secbox(['skill', 'run', id, '--inputs', JSON.stringify(inputs)]);
      if (expected.output) expect([code, JSON.parse(stdout)]).toEqual([0, expected.output]);
      else if (expected.exit_code === undefined)
        expect([code, stderr]).toEqual([2, expect.stringContaining('/inputs')]);
      else expect([code, stderr]).toEqual([1, expect.stringContaining(expected.stderr ?? '')]);
    }
  });

  test('takes files, and saves those that are left behind', async () => {
    await writeFile(join(folder, 'a.csv'), 'x,y\n1,2\n3,4\n');
    const args = ['skill', 'run', 'csv.profile', '--file', 'file=a.csv', '--out', 'saved'];
    const { code, stdout, stderr } = await secbox(args);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { rows: 2 }]);
    expect(stderr).toMatch(/Artifacts\n {2}profile\.svg +\S+ kB +image\/svg\+xml +\/sandbox\/execs/);
    expect(await readFile(join(folder, 'saved/profile.svg'), 'utf8')).toContain('<svg');
    await writeFile(join(folder, 'b.txt'), 'needle\n');
    const search = [
      'skill',
      'run',
      'text.search',
      '--input',
      'pattern=needle',
      '--file',
      'files=a.csv',
      '--file',
      'files=b.txt',
    ];
    expect((await secbox(search)).stdout).toContain('b.txt');
  });

  test('says what is wrong with inputs, and that there is no such skill', async () => {
    const wrong = await secbox([
      'skill',
      'run',
      'json.query',
      '--input',
      'document=1',
      '--input',
      'max_results=0',
    ]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('/inputs/max_results')]);
    const text = await secbox(['skill', 'run', 'json.query', '--input', 'max_results=many']);
    expect([text.code, text.stderr]).toEqual([
      2,
      expect.stringContaining('takes JSON of the type "integer"'),
    ]);
    const none = await secbox(['skill', 'run', 'json.ask']);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('skill_not_found')]);
  });
});

describe('exec', () => {
  test('gives both streams as they are, and what it is given', async () => {
    await writeFile(join(folder, 'in.txt'), 'from a file\n');
    const script = 'cat "/workspace/inputs/deep/in.txt"; echo "$1 $VAR"; cat; echo oops >&2; printf "\\xff"';
    const args = ['exec', script, '--env', 'VAR=var', '--file', 'deep/in.txt=in.txt', '--stdin', '--', '-x'];
    const { code, stdout, stderr } = await secbox(args, { stdin: 'stdin\n' });
    expect([code, stdout]).toEqual([0, 'from a file\n-x var\nstdin\n\ufffd']);
    expect(stderr).toMatch(/^oops\nsucceeded, \d+ ms, /);
  });

  test('python, as JSON, and a program that fails', async () => {
    const args = ['exec', '--python', 'import sys; print(sys.argv[1]); sys.exit(7)', 'word', '--json'];
    const { code, stdout, stderr } = await secbox(args);
    expect([code, stderr]).toEqual([1, expect.stringContaining('failed, exit code 7')]);
    expect(JSON.parse(stdout)).toMatchObject({ exit_code: 7, stdout: 'word\n', kind: 'python' });
  });

  test('names of files that lead elsewhere are not followed', async () => {
    const script = 'mkdir -p ../artifacts/a; echo x > ../artifacts/a/x; ln -s /etc ../artifacts/etc';
    const { code, stderr } = await secbox(['exec', script, '--out', 'files']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 file saved in files')]);
    expect(await readdir(join(folder, 'files'), { recursive: true })).toEqual(['a', 'a/x']);
  });

  test('interrupting cancels it', async () => {
    const { code } = await secbox(['exec', '--project', 'interrupted', 'echo begun >&2; sleep 240'], {
      onStderr: (text, kill) => text === 'begun\n' && kill('SIGINT'),
    });
    expect(code).toBe(130);
    const { execs } = await api.audit.page({ project_id: 'interrupted' });
    expect(execs.map(({ status }) => status)).toEqual(['cancelled']);
  });

  test('what is refused exits with 3', async () => {
    const { code, stderr } = await secbox(['exec', 'true', '--memory', '999999']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('policy_exceeded')]);
    const noKey = await secbox(['exec', 'true'], { env: { SECBOX_KEY: 'sbx_wrong' } });
    expect([noKey.code, noKey.stderr]).toEqual([3, expect.stringContaining('unauthenticated')]);
  });
});

describe('audit', () => {
  const asAuditor = { env: { SECBOX_KEY: '', SECBOX_KEY_FILE: 'auditor.key' } };
  let execId: string;
  beforeAll(async () => {
    await writeFile(join(folder, 'auditor.key'), `${auditor}\n`);
    const shell = {
      kind: 'shell' as const,
      command: 'bash',
      args: ['-lc', 'printf "\\033[2Jhi\\n"; echo x > ../artifacts/x # \u001b[2J'],
    };
    execId = (await api.execs.run({ project_id: 'audited', exec: shell })).exec_id;
    await api.skills.invoke('json.query', { project_id: 'audited', inputs: { document: 1, filter: '.' } });
  });

  test('list, in tables and as rows', async () => {
    const { code, stdout } = await secbox(['audit', 'list', '--project', 'audited', '--oldest'], asAuditor);
    const [heading, first = '', second = '', ...rest] = stdout.trimEnd().split('\n');
    expect([code, heading]).toEqual([0, expect.stringMatching(/^CREATED +EXEC +STATUS/)]);
    expect(first).toContain(execId);
    expect(first).toContain('bash -lc printf');
    expect(second).toMatch(/ audited +json\.query$/);
    expect(rest).toEqual([]);
    expect(stdout).not.toContain('\u001b');
    const rows = await secbox(
      ['audit', 'list', '--skill', 'json.query', '--limit', '1', '--json'],
      asAuditor,
    );
    expect(JSON.parse(rows.stdout)).toMatchObject({ skill_id: 'json.query' });
    const none = await secbox(['audit', 'list', '--project', 'nobodys'], asAuditor);
    expect([none.code, none.stdout]).toEqual([0, '']);
  });

  test('show, for people and for programs', async () => {
    const { code, stdout } = await secbox(['audit', 'show', execId], asAuditor);
    expect(code).toBe(0);
    for (const word of [execId, 'succeeded, exit code 0', 'memory_mb', 'stdout\n?[2Jhi', 'of default']) {
      expect(stdout).toContain(word);
    }
    expect(stdout).toMatch(/^ {2}x +2 B +\S+ +[0-9a-f]{64}$/m);
    expect(stdout).not.toContain('\u001b');
    const { stdout: whole } = await secbox(['audit', 'show', execId, '--json'], asAuditor);
    expect(JSON.parse(whole)).toMatchObject({ exec_id: execId, policy_snapshot: {} });
    expect((await secbox(['audit', 'show', '5f0c6f0e-3b0a-4d3e-9a55-0d6f6f1f2a11'], asAuditor)).code).toBe(2);
  });

  test('export, to a file and to stdout, for auditors only', async () => {
    const csv = await secbox(
      ['audit', 'export', '--format', 'csv', '--project', 'audited', '--out', 'execs.csv'],
      asAuditor,
    );
    expect([csv.code, csv.stdout, csv.stderr]).toEqual([
      0,
      '',
      expect.stringMatching(/^execs\.csv: \S+ kB\n$/),
    ]);
    const text = await readFile(join(folder, 'execs.csv'), 'utf8');
    expect(text.trimEnd().split('\n')).toHaveLength(3);
    const lines = await secbox(['audit', 'export', '--project', 'audited'], asAuditor);
    expect(lines.stdout.trimEnd().split('\n')).toHaveLength(2);
    const refused = await secbox(['audit', 'export', '--out', 'none.jsonl']);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('role_required')]);
    expect(await readdir(folder)).not.toContain('none.jsonl');
  });
});

test('doctor has nothing to say against a server that is well', async () => {
  const env = { DOCKER_HOST: process.env['DOCKER_HOST'] ?? '', SECBOX_DATA_DIR: service.dataDir };
  const { code, stdout } = await secbox(['doctor'], { env });
  expect(stdout).toMatch(/^✔ engine +Docker \d/m);
  expect(stdout).toMatch(/^✔ sandbox image /m);
  expect(stdout).toMatch(/^✔ server +test at http/m);
  expect(stdout).toMatch(/^✔ key +holds/m);
  expect([code, stdout]).toEqual([0, expect.not.stringContaining('✘')]);
});

describe('skill push', () => {
  test('packs a folder, uploads it for a user, and says where it is', async () => {
    const source = join(folder, 'weather');
    await cp(join(skills, 'json.query'), source, { recursive: true });
    const { code, stdout } = await secbox(['skill', 'push', 'weather', '--user', 'u', '--agent', 'a']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^Upload successful: skill 'weather' to '.*'\n$/),
    ]);
    const listed = await service.call('/v1/skills/u/a/weather/files', { key: worker });
    expect(listed.body['data']).toContain('manifest.json');
  });

  test('is refused with what the server says, and for what is wrong with the call', async () => {
    const bad = join(folder, 'bad.zip');
    await writeFile(bad, 'no archive');
    const push = (...words: string[]) => secbox(['skill', 'push', ...words]);
    const refused = await push('bad.zip', '--user', 'u', '--agent', 'a');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('(invalid_archive)')]);
    const baseline = await push('bad.zip', '--user', 'u', '--agent', 'a', '--baseline');
    expect([baseline.code, baseline.stderr]).toEqual([3, expect.stringContaining('(role_required)')]);
    expect((await push('bad.zip', '--user', 'u')).code).toBe(2);
    expect((await push('none', '--user', 'u', '--agent', 'a')).code).toBe(2);
    const away = { SECBOX_URL: 'http://127.0.0.1:9' };
    const args = ['skill', 'push', 'bad.zip', '--user', 'u', '--agent', 'a'];
    expect((await secbox(args, { env: away })).code).toBe(3);
  });
});
