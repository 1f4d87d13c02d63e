import {
  SecboxError,
  defaultTenant,
  newExecId,
  type ExecId,
  type ExecInput,
  type ExecRequest,
  type TenantId,
} from '@secbox/contracts';
import { parseRelativePath, sha256Of, type InputFile } from '@secbox/workspace';
import { assertWellFormed } from './exec-command.js';
import type { Intake } from './intake.js';

/** A request as it was received: who asks, what for, and with which files, whichever way they came. */
export interface ExecOrder {
  readonly execId: ExecId;
  readonly tenant: TenantId;
  readonly request: ExecRequest;
  readonly inputs: readonly InputFile[];
}

export function orderOf(request: ExecRequest, intake?: Intake): ExecOrder {
  return {
    execId: intake?.execId ?? newExecId(),
    tenant: defaultTenant,
    request,
    inputs: [...(request.inputs ?? []).map(inlineInput), ...(intake?.received ?? [])],
  };
}

/** What makes two orders the same, however their files were sent. */
export function requestedIn({ tenant, request, inputs }: ExecOrder): unknown {
  return {
    ...request,
    tenant,
    inputs: identitiesOf(inputs),
  };
}

function inlineInput(input: ExecInput, index: number): InputFile {
  const content = contentOf(input, index);
  return {
    path: parseRelativePath(input.path, `inputs[${index}].path`),
    size: content.length,
    sha256: sha256Of(content),
    secret: input.secret ?? false,
    content,
  };
}

function contentOf(input: ExecInput, index: number): Buffer {
  if (input.content_base64 === undefined) {
    assertWellFormed(`inputs[${index}].content`, [input.content ?? '']);
    return Buffer.from(input.content ?? '', 'utf8');
  }
  const content = Buffer.from(input.content_base64, 'base64');
  // The decoder skips what it does not know; what it gives back unchanged was base64.
  if (content.toString('base64') !== input.content_base64) {
    throw new SecboxError('invalid_request', `inputs[${index}].content_base64 is not base64.`, {
      details: { field: `inputs[${index}].content_base64` },
    });
  }
  return content;
}

/** In the order of their paths: how they arrived says nothing about what was asked for. */
export function identitiesOf(inputs: readonly InputFile[]): unknown[] {
  return inputs
    .map(({ path, secret, sha256 }) => ({ path: path.join('/'), secret, sha256 }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}
