import { ErrorCode, McpError, type CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { errorKinds, type ErrorKind } from '@secbox/contracts';

/** What the API answers errors as, whoever threw it. */
interface Failure {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Models read results and may mend what they asked for; errors of the protocol are for the program that talks to us. */
const waysToTell: Readonly<Record<ErrorKind, 'result' | ErrorCode>> = {
  invalid: 'result',
  unauthorized: ErrorCode.InvalidRequest,
  forbidden: 'result',
  not_found: ErrorCode.InvalidParams,
  conflict: 'result',
  too_large: 'result',
  rate_limited: 'result',
  timeout: 'result',
  unavailable: 'result',
  internal: ErrorCode.InternalError,
};

/** As the result of a call, or thrown. */
export function tellFailedCall(error: unknown): CallToolResult {
  const failure = failureOf(error);
  if (!failure || waysToTell[failure.kind] !== 'result') throw protocolError(error);
  return {
    isError: true,
    content: [
      { type: 'text', text: [`${failure.code}: ${failure.message}`, ...problemsIn(failure)].join('\n') },
    ],
    _meta: { 'secbox/error': { ...failure } },
  };
}

/** Of what has no result to be told in. What is not meant for callers stays here. */
export function protocolError(error: unknown): McpError {
  if (error instanceof McpError) return error;
  const failure = failureOf(error);
  if (!failure) return new McpError(ErrorCode.InternalError, 'Something went wrong on our side.');
  const way = waysToTell[failure.kind];
  const code = way === 'result' ? ErrorCode.InvalidRequest : way;
  return new McpError(code, `${failure.code}: ${failure.message}`, { ...failure });
}

function failureOf(error: unknown): Failure | undefined {
  const { kind, code, message, details } = error as Partial<Failure>;
  if (kind === undefined || !errorKinds.includes(kind) || code === undefined || message === undefined)
    return undefined;
  return { kind, code, message, ...(details && { details }) };
}

interface Problem {
  readonly pointer?: string;
  readonly message?: string;
  readonly expected?: string;
  readonly suggestion?: string;
}

/** Everything that is wrong, so that one more try may do. */
function problemsIn({ details }: Failure): string[] {
  const problems = details?.['problems'];
  if (!Array.isArray(problems)) return [];
  return (problems as readonly Problem[]).map(({ pointer = '', message = '', expected, suggestion }) => {
    const hints = [
      ...(expected === undefined ? [] : [`expected ${expected}`]),
      ...(suggestion === undefined ? [] : [`did you mean ${suggestion}?`]),
    ];
    return `- ${pointer} ${message}${hints.length > 0 ? ` (${hints.join('; ')})` : ''}`;
  });
}
