import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { InvocationAnswer } from '@secbox/contracts';
import { artifactUri } from './artifact-uri.js';
import { wrappedOutput } from './tool-schemas.js';
import { waitsForApproval } from './waits-for-approval.js';

/** Where a program puts what it gives back; a client has that already. */
const outputFile = 'output.json';

/** What came of an invocation, as a model and a program read it. */
export function resultOf(answer: InvocationAnswer, wrapped: boolean): CallToolResult {
  const { exec_id, skill_id, skill_digest, status, duration_ms, output } = answer;
  const failure = failureIn(answer);
  const structured = wrapped ? { [wrappedOutput]: output } : (output as Record<string, unknown>);
  return {
    content: [
      { type: 'text', text: failure ?? (typeof output === 'string' ? output : JSON.stringify(output)) },
      ...linksOf(answer),
    ],
    ...(failure === undefined ? { structuredContent: structured } : { isError: true }),
    _meta: Object.fromEntries(
      Object.entries({ exec_id, skill_id, skill_digest, status, duration_ms }).map(([name, value]) => [
        `secbox/${name}`,
        value,
      ]),
    ),
  };
}

function failureIn(answer: InvocationAnswer): string | undefined {
  const { skill_id, status, output_error, exit_code, error_reason, stdout_tail, stderr_tail } = answer;
  if (status === 'succeeded' && output_error === null) return undefined;
  if (status === 'awaiting_approval') return waitsForApproval(answer.exec_id);
  const lines =
    output_error === null
      ? [
          `${skill_id} ${status.replace('_', ' ')}${status === 'failed' ? ` with exit code ${exit_code}` : ''}.`,
          ...(error_reason === null ? [] : [error_reason]),
        ]
      : [`${skill_id} broke its own promise, so that its output is not given: ${output_error.message}`];
  const tails = [
    ...(stderr_tail === '' ? [] : ['', 'stderr:', stderr_tail.trimEnd()]),
    ...(stdout_tail === '' ? [] : ['', 'stdout:', stdout_tail.trimEnd()]),
  ];
  return [...lines, ...tails].join('\n');
}

export function linksOf({
  artifacts,
  artifacts_complete,
  artifacts_url,
}: Pick<InvocationAnswer, 'artifacts' | 'artifacts_complete' | 'artifacts_url'>): CallToolResult['content'] {
  const links = artifacts.flatMap(({ path, size, media_type, sha256, url }) =>
    url === null || path === outputFile
      ? []
      : [
          {
            type: 'resource_link' as const,
            uri: artifactUri(url),
            name: path,
            mimeType: media_type,
            size,
            _meta: { 'secbox/sha256': sha256 },
          },
        ],
  );
  if (artifacts_complete) return links;
  return [...links, { type: 'text', text: `There are more files; ${artifacts_url} lists them all.` }];
}
