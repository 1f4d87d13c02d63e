import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ExecutedCommand } from '@secbox/contracts';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { seedBaseline } from '../layers/layered-service.js';
import { pooled } from '../pool/pooled.js';
import { everything, gateOf, type Gate } from './gated-service.js';

/** Execs over layered skills wait for a human as others do, whichever way their files are laid over each other. */
function describeRoad(road: 'overlay' | 'copy', environment: () => Record<string, string>): void {
  describe(`a command in a layered skill: ${road}`, () => {
    let service: RunningService;
    let gate: Gate;
    beforeAll(async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'secbox-'));
      await seedBaseline(dataDir, { weather: { 'SKILL.md': '# Weather\n', 'a.txt': 'before\n' } });
      service = await startRunningService({ SECBOX_AUTH: 'keys', ...environment() }, dataDir);
      gate = await gateOf(service);
      const health = await gate.call('/sandbox/health', { key: gate.keys.worker });
      expect(health.body['layers']).toMatchObject({ road });
    }, 60_000);
    afterAll(() => service.close());

    const execute = async (user: string, script: string) => {
      const path = `/v1/skills/${user}/agent001/weather/execute?command=bash`;
      const { status, body } = await gate.call(path, { key: gate.keys.worker, body: ['-c', script] });
      return { status, told: body['data'] as ExecutedCommand };
    };
    const change = 'echo after > a.txt; echo new > b.txt';
    /** What the user's skill is, seen by an exec that nobody has to agree to. */
    const seen = async (user: string) => {
      await gate.put({});
      const { told } = await execute(user, 'cat a.txt b.txt 2>/dev/null; ls');
      return told;
    };
    const held = async (user: string) => {
      await gate.put({ approvals: everything });
      const { status, told } = await execute(user, change);
      expect([status, told.status, told.effects]).toEqual([202, 'awaiting_approval', null]);
      return told.exec_id;
    };

    test('is held with what it is about, runs when it is approved, and its effects are kept', async () => {
      const id = await held('u1');
      expect(await gate.see(id)).toMatchObject({
        state: 'pending',
        skill_id: 'weather',
        plan: {
          argv: ['bash', '-c', change],
          sandbox_type: 'docker',
          user_id: 'u1',
          agent_id: 'agent001',
          skill_source: 'baseline',
          skill_version: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      });
      expect((await seen('u1')).stdout).toBe('before\nSKILL.md\na.txt\n');
      await gate.decide(id, { decision: 'approve' });
      const ended = await gate.end(id);
      expect(ended).toMatchObject({
        status: 'succeeded',
        user_id: 'u1',
        effects: { kept: true, totals: { added: 1, changed: 1, deleted: 0 } },
      });
      const after = await seen('u1');
      expect(after.stdout).toBe('after\nnew\nSKILL.md\na.txt\nb.txt\n');
      expect(after.skill_source).not.toBe('baseline');
    });

    test('case 72: the files of the skill were changed since, by somebody who need not ask: it is not run', async () => {
      await gate.put({});
      await execute('u3', 'mkdir scripts; echo "echo harmless" > scripts/x.sh');
      await gate.put({ approvals: everything });
      const { told } = await execute('u3', 'bash scripts/x.sh');
      await gate.put({});
      await execute('u3', 'echo "echo evil" > scripts/x.sh');
      await gate.decide(told.exec_id, { decision: 'approve' });
      expect(await gate.end(told.exec_id)).toMatchObject({
        status: 'rejected',
        started_at: null,
        effects: null,
        error_reason: expect.stringContaining('The files of the skill were changed'),
      });
      while ((await gate.see(told.exec_id)).state !== 'void') await sleep(20);
      expect((await execute('u3', 'bash scripts/x.sh')).told).toMatchObject({ stdout: 'evil\n' });
    });

    test('is held where Settings name its skill, and others are not', async () => {
      await gate.put({ approvals: { skills: ['weather'] } });
      const { status, told } = await execute('u4', 'true');
      expect([status, told.status]).toEqual([202, 'awaiting_approval']);
      expect((await gate.see(told.exec_id)).needed_because).toBe('Settings ask for it for weather.');
      await gate.put({ approvals: { skills: ['other'] } });
      expect((await execute('u4', 'true')).status).toBe(200);
    });

    test('denied or withdrawn, it leaves the layer as it was', async () => {
      const denied = await held('u2');
      await gate.decide(denied, { decision: 'deny', reason: 'no' });
      expect(await gate.end(denied)).toMatchObject({ status: 'rejected', started_at: null, effects: null });
      const withdrawn = await held('u2');
      const path = `/sandbox/execs/${withdrawn}/cancel`;
      await gate.call(path, { key: gate.keys.worker, method: 'POST' });
      expect(await gate.end(withdrawn)).toMatchObject({ status: 'cancelled', effects: null });
      expect(await seen('u2')).toMatchObject({
        stdout: 'before\nSKILL.md\na.txt\n',
        skill_source: 'baseline',
      });
    });
  });
}

describeRoad('overlay', () => pooled(1));
describeRoad('copy', () => ({}));
