import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  containerPaths,
  type Attachment,
  type ContainerEngine,
  type ContainerSpec,
} from '@secbox/container-engine';
import { SecboxError } from '@secbox/contracts';
import type { Slot, Slots } from '@secbox/host-mounts';
import { newSlotId, type SelfTestFolders, type Workspace } from '@secbox/workspace';
import { createInTime, engineStep } from '../engine-step.js';
import { settledWithin } from '../settled-within.js';

export interface SlotsProof {
  readonly engine: Pick<ContainerEngine, 'findImage' | 'create' | 'attach' | 'start' | 'remove'>;
  readonly workspace: Workspace;
  readonly slots: Slots;
  readonly imageReference: string;
  /** Each has its own way with mounts, so that each is tried. */
  readonly runtime: string;
  readonly dataDir: string;
}

export type SlotsVerdict = { readonly works: true } | { readonly works: false; readonly reason: string };

const mebibyte = 1024 ** 2;
const engineMs = 30_000;
const selfTest = 'self-test-slots';

/**
 * Tries from inside a container whether it sees nothing, then the files that its slot was filled with, inputs read-only,
 * then nothing again. Throws when that cannot be found out now.
 */
export async function proveSlots(proof: SlotsProof): Promise<SlotsVerdict> {
  const folders = proof.workspace.prepareSelfTest(selfTest);
  try {
    const slot = await proof.slots.make(newSlotId());
    try {
      return await tryFromInside(proof, folders, slot);
    } finally {
      await slot.remove();
    }
  } catch (error) {
    if (error instanceof SecboxError && error.code === 'mount_failed') return fails(error.message);
    throw error;
  } finally {
    await proof.workspace.removeSelfTest(selfTest);
  }
}

async function tryFromInside(proof: SlotsProof, folders: SelfTestFolders, slot: Slot): Promise<SlotsVerdict> {
  const { engine, workspace, imageReference, runtime, dataDir } = proof;
  const image = await engine.findImage(imageReference);
  if (!image) throw new SecboxError('image_missing', `The engine does not have the image ${imageReference}.`);
  const mark = randomUUID();
  await writeFile(join(folders.inputs, 'mark'), mark, { mode: 0o644 });
  const spec: ContainerSpec = {
    imageId: image.id,
    runtime,
    command: ['sh', '-c', script, mark],
    environment: {},
    workingDirectory: '/',
    mounts: workspace.slotMounts(slot.id),
    mountPropagation: 'rslave',
    memoryBytes: 128 * mebibyte,
    cpus: 1,
    pids: 16,
    readOnlyRoot: true,
    maxFileBytes: mebibyte,
    owner: { purpose: 'self-test', dataDir },
  };
  const step = <T>(name: string, call: Promise<T>) => engineStep(name, undefined, call, engineMs);
  const id = await createInTime(engine, spec, engineMs);
  try {
    const attachment = await step('attach', engine.attach(id));
    try {
      const steps = goThrough(proof, { id, attachment, folders, slot, mark });
      // Whoever gave up waiting has nobody to tell.
      steps.catch(() => undefined);
      const verdict = await settledWithin(engineMs, steps);
      if (verdict) return verdict;
      throw new SecboxError('engine_unavailable', 'The container engine did not answer in time (self-test).');
    } finally {
      attachment.close();
    }
  } finally {
    await step('remove', engine.remove(id));
  }
}

/** What the container finds at each step, in its own words; each but the last waits for a line before it goes on. */
const script = `
cd ${containerPaths.inputs}/.. || exit 1
none() { test -z "$(ls -A inputs work artifacts | grep -v ':$')"; }
none && echo nothing || { echo not empty; exit 1; }
read -r _
test "$(cat inputs/mark 2>/dev/null)" = "$0" || { echo unseen; exit 1; }
case $( { : >inputs/new; } 2>&1) in *'Read-only file system'*) ;; *) echo writable inputs; exit 1;; esac
printf %s "$0" >work/mark && printf %s "$0" >artifacts/mark || { echo unwritable; exit 1; }
echo seen
read -r _
none && echo nothing || { echo still there; exit 1; }
`;

interface Trial {
  readonly id: string;
  readonly attachment: Attachment;
  readonly folders: SelfTestFolders;
  readonly slot: Slot;
  readonly mark: string;
}

async function goThrough(proof: SlotsProof, trial: Trial): Promise<SlotsVerdict> {
  const { attachment, folders, slot, mark } = trial;
  try {
    await proof.engine.start(trial.id);
  } catch (error) {
    // Where it cannot share mounts, the engine says so in its own words.
    if (!(error instanceof SecboxError)) throw error;
    return fails(`no container starts with it: ${error.message}`);
  }
  const lines = linesOf(attachment);
  const first = await lines.next();
  if (first.value !== 'nothing') return fails(`before it is filled a container finds ${told(first)}`);
  await slot.fill(folders.mounts);
  attachment.input.write('\n');
  const second = await lines.next();
  if (second.value !== 'seen') return fails(`when it is filled a container finds ${told(second)}`);
  if ((await readFile(join(folders.work, 'mark'), 'utf8')) !== mark) {
    return fails('what a container writes does not arrive');
  }
  await slot.empty();
  attachment.input.end('\n');
  const third = await lines.next();
  if (third.value !== 'nothing') return fails(`after it is emptied a container finds ${told(third)}`);
  return { works: true };
}

function told({ value }: IteratorResult<string, undefined>): string {
  return value === undefined ? 'no end of its steps' : `"${value}"`;
}

async function* linesOf({ output }: Attachment): AsyncGenerator<string, undefined> {
  let text = '';
  for await (const { data } of output) {
    text += data.toString();
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
      yield text.slice(0, end);
      text = text.slice(end + 1);
    }
  }
  return undefined;
}

function fails(reason: string): SlotsVerdict {
  return { works: false, reason };
}
