import { expect, test } from '@jest/globals';
import { SecboxError, type ExecStart, type ExecSubmission } from '@secbox/contracts';
import { Recording } from './recording.js';

const start: ExecStart = { started_at: '2030-01-01T00:00:00.000Z', queue_ms: 1, start_mode: 'warm' };

/** Writes down what it is asked to write, and fails where it is told to. */
function openRecording({ contents = [] as string[], failing = '' } = {}) {
  const written: string[] = [];
  const write = (name: string) => async () => {
    await Promise.resolve();
    if (name === failing) throw new Error('the disk is full');
    written.push(name);
  };
  const records = {
    insert: write('insert'),
    insertRunning: write('insertRunning'),
    markRunning: write('markRunning'),
  };
  const submission = { exec_id: 'an-id' } as unknown as ExecSubmission;
  return { recording: new Recording({ records, submission, contents, keepPlan: write('plan') }), written };
}

test('an exec that starts at once is written once, and its plan is not kept', async () => {
  const { recording, written } = openRecording();
  await recording.runs(start);
  await recording.there;
  expect(await recording.ensure()).toBe(true);
  expect(written).toEqual(['insertRunning']);
});

test('one that does not is written as waiting, with its plan, and then as running', async () => {
  const { recording, written } = openRecording();
  recording.waitAfter(1);
  await recording.there;
  await recording.runs(start);
  expect(written).toEqual(['plan', 'insert', 'markRunning']);
});

test('one that starts while it is being written as waiting is written as both', async () => {
  const { recording, written } = openRecording();
  await Promise.all([recording.waits(), recording.runs(start)]);
  expect(written).toEqual(['plan', 'insert', 'markRunning']);
});

test('one whose inputs are kept is written with them first', async () => {
  const { recording, written } = openRecording({ contents: ['sha256'] });
  await recording.runs(start);
  expect(written).toEqual(['plan', 'insert', 'markRunning']);
});

test('a row that cannot be written is not tried again: whoever asked has been refused', async () => {
  const { recording, written } = openRecording({ failing: 'insertRunning' });
  await expect(recording.runs(start)).rejects.toMatchObject({ code: 'database_unavailable' });
  await expect(recording.there).rejects.toMatchObject({ code: 'database_unavailable' });
  expect(await recording.ensure()).toBe(false);
  expect(written).toEqual([]);
});

test('a start that cannot be written may be tried again, as the row is there', async () => {
  const { recording } = openRecording({ failing: 'markRunning' });
  await recording.waits();
  await expect(recording.runs(start)).rejects.toMatchObject({ code: 'database_unavailable' });
  expect(await recording.ensure()).toBe(true);
});

test('refused before it had a row, it gets none; after that it keeps it', async () => {
  const refusal = new SecboxError('shutting_down', 'for a test');
  const { recording: early } = openRecording();
  early.refuse(refusal);
  await expect(early.there).rejects.toBe(refusal);
  const { recording: late } = openRecording();
  await late.waits();
  late.refuse(refusal);
  expect(await late.ensure()).toBe(true);
});

test('one that an earlier server recorded is there', async () => {
  const { written } = openRecording();
  const records = {
    insert: () => Promise.reject(new Error('twice')),
    insertRunning: () => Promise.reject(new Error('twice')),
    markRunning: () => Promise.resolve(void written.push('markRunning')),
  };
  const submission = { exec_id: 'an-id' } as unknown as ExecSubmission;
  const recording = Recording.ofEarlier({
    records,
    submission,
    contents: [],
    keepPlan: () => Promise.reject(new Error('twice')),
  });
  await recording.runs(start);
  expect(written).toEqual(['markRunning']);
});
