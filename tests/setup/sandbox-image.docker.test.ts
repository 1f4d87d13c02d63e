import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, jest, test } from '@jest/globals';
import { contentTag, readContext } from '../../docker/setup/build-context.mjs';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { repositoryRoot } from '../../docker/setup/settings.mjs';

jest.setTimeout(60_000);

const api = new EngineApi({ host: process.env['DOCKER_HOST'] ?? '' });
const folder = join(repositoryRoot, 'docker', 'sandbox');

interface Inspected {
  readonly Id: string;
  readonly RepoTags: readonly string[];
  readonly Config: {
    User: string;
    WorkingDir: string;
    Env: readonly string[];
    Labels: Record<string, string>;
  };
}
const inspect = async (name: string) => (await api.call('GET', `/images/${name}/json`)) as Inspected;

/** Runs a script in the image as it is, with no network, and answers what it printed and its exit code. */
async function inside(script: string, user?: string): Promise<{ code: number; output: string }> {
  const { Id } = (await api.call('POST', '/containers/create', {
    json: {
      Image: 'secbox/sandbox:latest',
      // The terminal makes one plain stream of both; cat hides it from the programs.
      Cmd: ['bash', '-c', `set -o pipefail; { ${script}\n} 2>&1 | cat`],
      Tty: true,
      ...(user === undefined ? {} : { User: user }),
      Labels: { secbox: 'test', 'secbox.data_dir': join(tmpdir(), 'sandbox-image') },
      HostConfig: { NetworkMode: 'none' },
    },
  })) as { Id: string };
  try {
    await api.call('POST', `/containers/${Id}/start`);
    const { StatusCode } = (await api.call('POST', `/containers/${Id}/wait`)) as { StatusCode: number };
    const output = await api.text('GET', `/containers/${Id}/logs`, { query: { stdout: '1', stderr: '1' } });
    return { code: StatusCode, output: output.replaceAll('\r\n', '\n') };
  } finally {
    await api.call('DELETE', `/containers/${Id}`, { query: { force: '1', v: '1' } });
  }
}

/** Several scripts in one container, each in a shell of its own: what each printed, and how it failed if it did. */
async function insideEach(scripts: readonly string[]): Promise<string[]> {
  const quoted = scripts.map((script) => `'${script.replaceAll("'", `'\\''`)}'`);
  const { output } = await inside(
    `for each in ${quoted.join(' ')}; do bash -c "$each" || echo "exit code $?"; printf '\\x1e'; done`,
  );
  return output.split('\x1e').slice(0, -1);
}

const commands: Record<string, readonly [script: string, output: string]> = {
  python: ["python -c 'print(6 * 7)'", '42\n'],
  python3: ["python3 -c 'print(6 * 7)'", '42\n'],
  pip: ['pip --version | cut -d" " -f1', 'pip\n'],
  pip3: ['pip3 --version | cut -d" " -f1', 'pip\n'],
  venv: ['python -m venv --without-pip v && v/bin/python -c "import ensurepip; print(1)"', '1\n'],
  bash: ['bash -lc "echo ${BASH##*/}"', 'bash\n'],
  sh: ['sh -c "echo yes"', 'yes\n'],
  ls: ['ls /workspace', 'artifacts\ninputs\nwork\n'],
  cat: ['echo a | cat', 'a\n'],
  grep: ["printf 'a\\nb\\n' | grep b", 'b\n'],
  sed: ['echo a | sed s/a/b/', 'b\n'],
  awk: ["echo 1 2 | awk '{ print $2 }'", '2\n'],
  'cp, mv, rm, mkdir': [
    'mkdir d && cp /etc/hostname d/a && mv d/a d/b && rm d/b && rmdir d && echo ok',
    'ok\n',
  ],
  find: ['find /workspace -maxdepth 1 -name inputs', '/workspace/inputs\n'],
  curl: ['curl --version | cut -d" " -f1 | head -n1', 'curl\n'],
  jq: [`echo '{"a":[1,2]}' | jq -c .a`, '[1,2]\n'],
  git: ['git init -q r && git -C r status --short && echo ok', 'ok\n'],
  certificates: ['test -s /etc/ssl/certs/ca-certificates.crt && echo ok', 'ok\n'],
};

describe('the sandbox image', () => {
  test('the alias names an image made of the present content', async () => {
    const { RepoTags, Config } = await inspect('secbox/sandbox:latest');
    const files = readContext(folder);
    const tags = ['python:3.12-slim', 'debian:bookworm'].map(
      (base) => `secbox/sandbox:${contentTag(files, base)}`,
    );
    expect(RepoTags.filter((tag) => tags.includes(tag))).toHaveLength(1);
    expect(Config).toMatchObject({ User: '1000:1000', WorkingDir: '/workspace/work' });
    expect(Config.Labels).toMatchObject({ secbox: 'image' });
    expect(Config.Env).toEqual(expect.arrayContaining(['HOME=/home/sandbox', 'LANG=C.UTF-8']));
    expect(Config.Env.join()).not.toContain('PYTHONUNBUFFERED');
  });

  test('offers what callers run', async () => {
    const results = await insideEach(Object.values(commands).map(([script]) => script));
    const offered = Object.fromEntries(Object.keys(commands).map((name, at) => [name, results[at]]));
    const expected = Object.fromEntries(Object.entries(commands).map(([name, [, output]]) => [name, output]));
    expect(offered).toEqual(expected);
  });

  test('the user is sandbox, 1000:1000, in a home and a work folder of its own', async () => {
    const script = 'id -un; id -u; id -g; id -G; pwd; cd; pwd; touch mine && stat -c %U mine';
    expect((await inside(script)).output).toBe(
      'sandbox\n1000\n1000\n1000\n/workspace/work\n/home/sandbox\nsandbox\n',
    );
  });

  test('of the workspace it owns the three folders, and nothing else of the system', async () => {
    expect((await inside("stat -c '%n %u:%g' /workspace /workspace/*")).output).toBe(
      '/workspace 0:0\n/workspace/artifacts 1000:1000\n/workspace/inputs 1000:1000\n/workspace/work 1000:1000\n',
    );
    const owned =
      'find / -xdev -user 1000 -not -path "/home/sandbox*" -not -path "/workspace/*" 2>/dev/null; true';
    expect((await inside(owned)).output).toBe('');
  });

  test('no file can make it another user: no setuid or setgid bit, no file capability', async () => {
    const bits = 'find / -xdev -perm /6000 -not -type l';
    expect(await inside(bits, '0:0')).toEqual({ code: 0, output: '' });
    const capabilities = `python3 - <<'END'
import os
for top, _, names in os.walk('/usr'):
    for name in names:
        file = os.path.join(top, name)
        if not os.path.islink(file) and 'security.capability' in os.listxattr(file): print(file)
END`;
    expect(await inside(capabilities, '0:0')).toEqual({ code: 0, output: '' });
  });

  test("the first process is there, is root's, and speaks the protocol that the label says", async () => {
    const { Labels } = (await inspect('secbox/sandbox:latest')).Config;
    const wire = readFileSync(join(folder, 'init', 'protocol.h'), 'utf8');
    expect(Labels['secbox.init']).toBe(/#define PROTOCOL_VERSION (\d+)/.exec(wire)?.[1]);
    const script = "stat -L -c '%u:%g %a' /sbin/secbox-init && /sbin/secbox-init --version";
    expect((await inside(script)).output).toBe(
      `0:0 755\nsecbox-init, protocol ${Labels['secbox.init'] ?? ''}\n`,
    );
  });

  test('pip is not held back by the distribution', async () => {
    const script = 'find / -xdev -name EXTERNALLY-MANAGED 2>/dev/null; true';
    expect((await inside(script)).output).toBe('');
  });

  test('no compiler is left in it', async () => {
    expect((await inside('command -v gcc cc ld; true')).output).toBe('');
  });
});
