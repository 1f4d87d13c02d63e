import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { defaultTenant, parseAgentId, parseLayeredSkillId, parseUserId } from '@secbox/contracts';
import { SkillLayers } from '@secbox/skill-layers';
import { LayersUpkeep, type LayersUpkeepOptions } from './layers-upkeep.js';

type All = LayersUpkeepOptions['layers']['all'];

const agentId = parseAgentId('agent');
const skillId = parseLayeredSkillId('w');
let root: string;
let layers: SkillLayers;
let now: Date;
let upkeep: LayersUpkeep | undefined;
let told: string[];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'secbox-upkeep-'));
  now = new Date('2026-01-01T00:00:00Z');
  told = [];
  layers = await SkillLayers.open({ root, now: () => now, failed: () => told.push('not removed') });
});
afterEach(async () => {
  await upkeep?.close();
  await layers.close();
  await rm(root, { recursive: true });
});

const allLayers: All = () => Promise.resolve(new Map([[defaultTenant, layers]]));
const untilTold = async (what: string, times = 1) => {
  while (told.filter((each) => each === what).length < times) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
};

/** With nothing on disks, and a line in `told` for all that is heard of it. */
function begin(all: All, options: Partial<LayersUpkeepOptions> = {}): LayersUpkeep {
  const note = (event: string) => void told.push(event);
  const logger = { error: note, warn: note, info: note, debug: note, child: () => logger };
  upkeep = new LayersUpkeep({
    layers: { all },
    register: {
      cleanedUp: () => Promise.resolve(),
      reconcile: (_tenant, _layers, left) => {
        note(`reconciled ${left.map(({ userId }) => userId).join()}`);
        return Promise.resolve(0);
      },
    },
    securityLog: {
      happened: (type, _by, { details }) => {
        note(`${type} ${String(details['user_id'])}`);
        return Promise.resolve();
      },
    },
    workspace: { layered: () => ({ disks: () => Promise.resolve([]) }) } as never,
    runner: {} as never,
    disk: {} as never,
    logger,
    settings: () => ({}),
    everyMs: 1,
    ...options,
  });
  upkeep.begin();
  return upkeep;
}

test('cleans again and again, until it is closed', async () => {
  let times = 0;
  const begun = begin(() => {
    told.push('cleaned');
    times += 1;
    return allLayers();
  });
  await untilTold('cleaned', 3);
  await begun.close();
  const atTheEnd = times;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(times).toBe(atTheEnd);
});

test('what fails as a whole is told, and tried again the next time', async () => {
  let times = 0;
  begin(() => {
    times += 1;
    return times < 3 ? Promise.reject(new Error('no disk')) : allLayers();
  });
  await untilTold('reconciled ');
  expect(told.slice(0, 3)).toEqual(['layers.not_cleaned', 'layers.not_cleaned', 'reconciled ']);
});

test('settings that cannot be had are told, too', async () => {
  begin(allLayers, {
    settings: () => {
      throw new Error('no settings');
    },
  });
  await untilTold('layers.not_cleaned', 2);
  expect(new Set(told)).toEqual(new Set(['layers.not_cleaned']));
});

test('users who are gone are recorded, and the rest is done, when one cannot be removed', async () => {
  for (const user of ['u1', 'u2', 'u3']) {
    await layers.editFile({ userId: parseUserId(user), agentId, skillId }, 'x', user);
  }
  now = new Date('2026-01-03T00:00:00Z');
  await rm(join(root, 'skill/overlay/u2/agent/w'), { recursive: true });
  begin(allLayers, { everyMs: 60_000 });
  await untilTold('layers.cleaned');
  expect(told.slice(0, 3).sort()).toEqual(['not removed', 'skill_deleted u1', 'skill_deleted u3']);
  expect(told.slice(3)).toEqual(['reconciled u2', 'layers.cleaned']);
});
