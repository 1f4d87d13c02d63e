import type { ExecId } from '@secbox/contracts';
import type { InputFile, Workspace } from '@secbox/workspace';
import type { ExecPlan } from './exec-plan.js';
import type { Vault } from './vault.js';

type StoredInput = Omit<InputFile, 'content'> & { readonly content: { base64: string } | { staged: string } };

const planFile = 'plan.sealed';

/**
 * Keeps a plan on disk until its exec is over, so that one that waits outlives the server. It holds
 * environment values, stdin and secret inputs, so it is sealed.
 */
export async function writeSealedPlan(
  workspace: Workspace,
  vault: Vault,
  plan: ExecPlan,
  { durable = false }: { readonly durable?: boolean } = {},
): Promise<void> {
  const inputs = plan.inputs.map(({ content, ...input }): StoredInput => ({
    ...input,
    content: Buffer.isBuffer(content) ? { base64: content.toString('base64') } : content,
  }));
  const sealed = vault.seal(Buffer.from(JSON.stringify({ ...plan, inputs })), contextOf(plan.execId));
  // A power cut may take it, and then the next start ends its exec: a wait for the disk before every exec costs more.
  await workspace.writeSpooled(plan.execId, planFile, sealed, { durable });
}

/** Undefined when there is none, or it is not what we wrote. */
export async function readSealedPlan(
  workspace: Workspace,
  vault: Vault,
  execId: ExecId,
): Promise<ExecPlan | undefined> {
  const sealed = await workspace.readSpooled(execId, planFile);
  if (sealed === undefined) return undefined;
  try {
    const plan = JSON.parse(vault.unseal(sealed, contextOf(execId)).toString('utf8')) as ExecPlan & {
      readonly inputs: readonly StoredInput[];
    };
    return { ...plan, inputs: plan.inputs.map(restored) };
  } catch {
    // Cut off while it was written, or sealed with another key.
    return undefined;
  }
}

function restored({ content, ...input }: StoredInput): InputFile {
  return { ...input, content: 'base64' in content ? Buffer.from(content.base64, 'base64') : content };
}

function contextOf(execId: ExecId): string {
  return `plan of ${execId}`;
}
