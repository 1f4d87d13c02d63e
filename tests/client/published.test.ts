import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compileService } from '../../docker/setup/compile.mjs';
import { repositoryRoot } from '../../docker/setup/settings.mjs';

const run = promisify(execFile);
const packages = ['contracts', 'client'];
const env = { ...process.env, NODE_OPTIONS: '' };
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-published-'));
  const { signal } = new AbortController();
  await compileService({
    root: repositoryRoot,
    env,
    signal,
    say: () => undefined,
    projects: ['packages/client'],
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** As it is published: only pnpm writes what `publishConfig` says, and versions for those of the workspace. */
async function pack(name: string): Promise<string> {
  const cwd = join(repositoryRoot, 'packages', name);
  const { packageManager } = await manifestIn(repositoryRoot);
  const args = ['--yes', packageManager ?? '', 'pack', '--json', '--pack-destination', folder];
  const { stdout } = await run('npx', args, { cwd, env });
  return (JSON.parse(stdout) as { filename: string }).filename;
}

async function unpack(archive: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await run('tar', ['-xzf', archive, '-C', target, '--strip-components=1']);
}

async function manifestIn(place: string) {
  return JSON.parse(await readFile(join(place, 'package.json'), 'utf8')) as {
    readonly packageManager?: string;
    readonly dependencies?: object;
  };
}

test('what is published is compiled modules with their types, and works where nothing else is', async () => {
  for (const name of packages) {
    const target = join(folder, 'node_modules/@secbox', name);
    await unpack(await pack(name), target);
    const paths = (await readdir(target, { recursive: true })).filter((path) => path.includes('.'));
    expect(paths).toEqual(expect.arrayContaining(['package.json', 'dist/index.js', 'dist/index.d.ts']));
    expect(paths.filter((path) => /test|\.map$|^src|tsbuildinfo/.test(path))).toEqual([]);
    const manifest = await readFile(join(target, 'package.json'), 'utf8');
    expect(manifest).not.toMatch(/workspace:|src\/|@secbox\/source/);
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const program = `import { SecboxClient, ConnectionError, type ExecStatus } from '@secbox/client';
const secbox = new SecboxClient({ url: 'http://127.0.0.1:9', retry: { attempts: 0 } });
const status: ExecStatus | Error = await secbox.execs.get('x').then((exec) => exec.status, (error: Error) => error);
console.log(status instanceof ConnectionError);
`;
  await writeFile(join(folder, 'program.ts'), program);
  const options = {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    skipLibCheck: false,
    types: ['node'],
  };
  const typeRoots = [join(repositoryRoot, 'node_modules/@types')];
  const compilerOptions = { ...options, typeRoots, lib: ['es2023'] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
  const tsc = join(repositoryRoot, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', folder], { env });
  const { stdout } = await run(process.execPath, [join(folder, 'program.js')], { env });
  expect(stdout).toBe('true\n');
});

test('what it takes beside that is the types of the wire alone', async () => {
  const read = (name: string) => manifestIn(join(repositoryRoot, 'packages', name));
  expect(Object.keys((await read('client')).dependencies ?? {})).toEqual(['@secbox/contracts']);
  expect((await read('contracts')).dependencies).toBeUndefined();
});
