import { expect, test } from '@jest/globals';
import { ephemeralProject, newExecId, parseProjectId, type ExecSubmission } from '@secbox/contracts';
import type { ExecPlan } from '../exec-plan.js';
import { shownPlan } from './shown-plan.js';

const execId = newExecId();
const unseenOf = (more: object, command: object = {}) => {
  const plan = {
    execId,
    projectId: parseProjectId('p'),
    command: { command: 'python', args: ['-c', 'import json'], environmentKeys: [], stdin: '', ...command },
    policy: { values: {} },
    ...more,
  } as unknown as ExecPlan;
  return shownPlan(plan, { cmd: 'python', args: [] } as unknown as ExecSubmission, [], String).unseen;
};
const work = expect.stringMatching(/^What lies in \/workspace\/work: others may change it/);

test('whoever agrees is told that files of work may change, wherever they may', () => {
  expect(unseenOf({})).toEqual([work]);
  expect(unseenOf({ layer: { kind: 'sandbox' } })).toEqual([work]);
  expect(unseenOf({ layer: { kind: 'skill' } })).toEqual([]);
  expect(unseenOf({ projectId: ephemeralProject(execId) })).toEqual([]);
});

test('beside variables that decide what runs, and stdin', () => {
  expect(unseenOf({}, { environmentKeys: ['PATH', 'TOKEN'], stdin: 'echo' })).toEqual([
    'What PATH says, which may decide what runs.',
    'What is sent on stdin (4 bytes): if it is run as code, nobody sees that code.',
    work,
  ]);
});
