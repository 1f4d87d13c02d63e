import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { layeredProject } from '@secbox/contracts';
import { pooled, poolHas } from '../pool/pooled.js';
import { at, becomesEmpty, startLayeredService, type LayeredService } from './layered-service.js';

const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as unknown as string;
const weather = {
  'SKILL.md': '# Weather\n',
  'main.py': 'import sys\nprint("sunny", *sys.argv[1:])\n',
  'data/a.txt': 'a\n',
  'data/b.txt': 'b\n',
  'tools/run.sh': 'echo "$@" > made.txt\n',
};
const python = (...lines: readonly string[]) => ['-c', lines.join('\n')];

/** Commands in layered skills mean the same whichever way a container is given them. */
function describeRoad(road: 'overlay' | 'copy', environment: () => Record<string, string>): void {
  describe(`execute: ${road}`, () => {
    let service: LayeredService;
    beforeAll(async () => {
      service = await startLayeredService({ weather, other: { 'SKILL.md': '# O\n' } }, environment());
    }, 60_000);
    afterAll(() => service.close());

    const versionsOf = () => {
      const folder = join(service.product, 'skill', 'baseline', 'agent001', 'weather');
      const [version = ''] = readdirSync(folder).filter((name) => name !== '.meta');
      return {
        version,
        files: execFileSync('sh', ['-c', 'find . -type f | sort | xargs sha256sum'], {
          cwd: join(folder, version),
        }).toString(),
      };
    };

    test('the health says which way, and why', async () => {
      const health = (await (await fetch(`${service.url}/sandbox/health`)).json()) as {
        layers: unknown;
        disk: { sandbox: unknown };
      };
      expect(health.layers).toEqual({ road, why: expect.any(String) });
      expect(health.disk.sandbox).toMatchObject({ kind: 'soft' });
    });

    test('runs at the root of the merged view, and tells as the v1 API does', async () => {
      const { http, body } = await service.execute(at('u1'), 'python3', ['main.py', '--city', 'Beijing']);
      expect([http, body.status]).toEqual([200, 'success']);
      expect(body.data).toMatchObject({
        stdout: 'sunny --city Beijing\n',
        stderror: '',
        exit_code: 0,
        status: 'succeeded',
        skill_source: 'baseline',
        skill_version: versionsOf().version,
        effects: { kept: true, added: [], changed: [], deleted: [], totals: { added: 0 } },
      });
      const pwd = await service.execute(at('u1'), 'python3', python('import os; print(os.getcwd())'));
      expect(pwd.body.data.stdout).toBe('/workspace/work\n');
    });

    test('its row says whose it was, from which layer on, and what it did; meta.json agrees', async () => {
      const place = at('u2');
      const before = versionsOf();
      const { body } = await service.execute(place, 'bash', [
        '-c',
        'echo new > new.txt; echo changed > data/a.txt; rm data/b.txt; mkdir -p deep/er; echo x > deep/er/x',
      ]);
      const effects = {
        kept: true,
        reason: null,
        added: [
          { path: 'deep/er/x', sha256, bytes: 2 },
          { path: 'new.txt', sha256, bytes: 4 },
        ],
        changed: [{ path: 'data/a.txt', before: sha256, sha256, bytes: 8 }],
        deleted: [{ path: 'data/b.txt', sha256 }],
        conflicts: [],
        skipped: [],
        totals: { added: 2, changed: 1, deleted: 1, conflicts: 0, skipped: 0 },
      };
      expect(body.data.effects).toEqual(effects);
      const row = await service.row(body.data.exec_id);
      expect(row).toMatchObject({
        user_id: 'u2',
        agent_id: 'agent001',
        skill_id: 'weather',
        skill_version: before.version,
        skill_source: 'baseline',
        project_id: layeredProject('skill', place.userId, place.agentId),
        kind: 'argv',
        cmd: 'bash',
        effects,
      });
      expect(row.policy_snapshot.values.timeout_ms).toBe(300_000);
      const meta = JSON.parse(await readFile(join(row.artifacts_path, 'meta.json'), 'utf8')) as object;
      expect(meta).toMatchObject({ effects, user_id: 'u2', skill_source: 'baseline' });

      const seen = await service.execute(place, 'bash', ['-c', 'cat new.txt data/a.txt; ls data']);
      expect(seen.body.data).toMatchObject({
        stdout: 'new\nchanged\na.txt\n',
        skill_source: expect.stringMatching(/^overlay:\d+$/),
      });
      const other = await service.execute(at('u3'), 'bash', ['-c', 'cat data/a.txt data/b.txt; ls']);
      expect(other.body.data.stdout).toBe('a\nb\nSKILL.md\ndata\nmain.py\ntools\n');
      expect(versionsOf()).toEqual(before);
    });

    test('the changes of one that fails, or runs into its deadline, are kept as any are', async () => {
      const { body } = await service.execute(at('u4'), 'bash', ['-c', 'echo 1 > one; exit 3']);
      expect(body.data).toMatchObject({ exit_code: 3, status: 'failed', effects: { kept: true } });
      expect((await service.execute(at('u4'), 'cat', ['one'])).body.data.stdout).toBe('1\n');
    });

    test('two at once both work; what both changed is told, and lies beside', async () => {
      const place = at('u5');
      const wait =
        'import os, time\nopen("{0}", "w").write("{0}")\ntime.sleep(0.8)\nopen("both", "w").write("{0}")';
      const [one, two] = await Promise.all(
        ['one', 'two'].map((name) => service.execute(place, 'python3', python(wait.replaceAll('{0}', name)))),
      );
      const [first, second] = [one?.body.data.effects, two?.body.data.effects];
      expect([one?.body.data.exit_code, two?.body.data.exit_code]).toEqual([0, 0]);
      const conflicts = [...(first?.conflicts ?? []), ...(second?.conflicts ?? [])];
      expect(conflicts).toMatchObject([{ path: 'both', kind: 'changed', kept_as: expect.any(String) }]);
      const { stdout } = (await service.execute(place, 'bash', ['-c', 'cat one two both both.*'])).body.data;
      expect(stdout.slice(0, 6)).toBe('onetwo');
      expect([stdout.slice(6, 9), stdout.slice(9)].sort()).toEqual(['one', 'two']);
    });

    test('a general sandbox is a folder of its own, which outlives its execs', async () => {
      const made = await service.inSandbox(at('u6'), 'bash', [
        '-c',
        'pwd; mkdir -p data; echo 1 > data/log.txt',
      ]);
      expect([made.http, made.body.data.stdout]).toEqual([200, '/workspace/work\n']);
      expect((await service.inSandbox(at('u6'), 'cat', ['data/log.txt'])).body.data.stdout).toBe('1\n');
      expect((await service.inSandbox(at('u7'), 'ls', [])).body.data.stdout).toBe('');
      const row = await service.row(made.body.data.exec_id);
      expect(row).toMatchObject({ user_id: 'u6', skill_id: null, skill_source: null, effects: null });
      expect(
        readFileSync(join(service.product, 'sandbox', 'u6', 'agent001', 'data', 'log.txt'), 'utf8'),
      ).toBe('1\n');
    });

    test('arguments below the path that callers are told mean the work folder', async () => {
      const told = join(service.product, 'skill', 'overlay', 'u8', 'agent001', 'weather');
      const { body } = await service.execute(at('u8'), 'cat', [join(told, 'data/a.txt')]);
      expect(body.data.stdout).toBe('a\n');
      const baseline = join(service.product, 'skill', 'baseline', 'agent001', 'weather');
      const ofBaseline = await service.execute(at('u8'), 'cat', [join(baseline, 'data/b.txt')]);
      expect(ofBaseline.body.data.stdout).toBe('b\n');
      const sandbox = join(service.product, 'sandbox', 'u8', 'agent001');
      await service.inSandbox(at('u8'), 'bash', ['-c', 'echo 8 > f']);
      expect((await service.inSandbox(at('u8'), 'cat', [`${sandbox}/f`])).body.data.stdout).toBe('8\n');
    });

    test('links, pipes and odd names are told and not kept; nothing is followed', async () => {
      const { body } = await service.execute(
        at('u9'),
        'python3',
        python(
          'import os',
          'os.symlink("/etc/passwd", "link"); os.mkfifo("pipe"); os.rename("data", "moved") if 0 else None',
          'os.remove("main.py"); os.symlink("/etc/shadow", "main.py")',
          'open(b"\\xff", "w").write("x")',
          'os.mkdir("closed"); open("closed/f", "w").write("f"); os.chmod("closed", 0)',
        ),
      );
      expect(body.data.effects).toMatchObject({
        kept: true,
        added: [{ path: 'closed/f' }],
        deleted: [{ path: 'main.py' }],
      });
      const kinds = (body.data.effects?.skipped ?? []).map(({ path, kind }) => `${path} ${kind}`).sort();
      expect(kinds).toEqual(['link symlink', 'main.py symlink', 'pipe fifo', 'ÿ name']);
    });

    test('takes a container that waits, where there is one', async () => {
      const isPooled = road === 'overlay';
      if (isPooled) await poolHas(service.url, 2);
      const { body } = await service.execute(at('u10'), 'python3', ['main.py']);
      expect((await service.row(body.data.exec_id)).start_mode).toBe(isPooled ? 'warm' : 'cold');
    });

    test('nothing is left mounted, under way or in its room', async () => {
      await becomesEmpty(join(service.product, 'skill', '.execs'));
      const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
      expect(mounts).not.toContain(`${service.product}/`);
    });
  });
}

describeRoad('overlay', () => pooled(2));
describeRoad('copy', () => ({}));
