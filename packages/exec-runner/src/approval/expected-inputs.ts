import { isExecId, SecboxError, type ExecId } from '@secbox/contracts';
import type { InputFile, VisibleInput } from '@secbox/workspace';
import { canonicalJson } from '../canonical-json.js';

/** An input that an approver was shown: what is there when the exec runs has to be the same. */
export type ExpectedInput =
  | { readonly path: string; readonly sha256: string }
  | { readonly path: string; readonly secret: true }
  | { readonly path: string; readonly kind: string };

/** What an exec will see if nobody changes it: the inputs of its project, and over them those it brings. */
export function expectedInputs(
  execId: ExecId,
  visible: readonly VisibleInput[],
  brought: readonly InputFile[] = [],
): ExpectedInput[] {
  const expected = new Map<string, ExpectedInput>();
  for (const input of visible) {
    const path = input.path_base64 ?? input.path;
    // What other invocations brought goes with them, and before an exec that runs alone.
    if (isOfAnother(input.path, execId)) continue;
    if ('kind' in input) expected.set(path, { path, kind: input.kind });
    else expected.set(path, 'secret' in input ? { path, secret: true } : { path, sha256: input.sha256 });
  }
  for (const { path: components, secret, sha256 } of brought) {
    const path = components.join('/');
    expected.set(path, secret ? { path, secret } : { path, sha256 });
  }
  return [...expected.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

export function isOfAnother(path: string, execId: ExecId): boolean {
  const [first = ''] = path.split('/');
  return isExecId(first) && first !== execId;
}

/** Throws `approval_void` when the inputs are not those that were approved. */
export function assertAsApproved(
  { execId, expects }: { readonly execId: ExecId; readonly expects?: readonly ExpectedInput[] },
  visible: readonly VisibleInput[],
): void {
  if (!expects || canonicalJson(expectedInputs(execId, visible)) === canonicalJson(expects)) return;
  throw new SecboxError(
    'approval_void',
    'The inputs of the project were changed since the exec was shown for approval; it was not run.',
  );
}
