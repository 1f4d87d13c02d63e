import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { runCodeAnswerSchema, runCodeRequestSchema, type RunCodeAnswer } from '@secbox/contracts';
import { linksOf } from './tool-results.js';
import { waitsForApproval } from './waits-for-approval.js';

/** No skill has this name: theirs have a prefix. */
export const codeToolName = 'run_code';

const { $id: _, properties, ...schema } = runCodeRequestSchema;
const { task_ref: __, ...inputs } = properties;

export const codeTool: Tool = {
  name: codeToolName,
  title: 'Run code',
  description:
    'Runs code in a fresh sandbox without a network and gives what it printed and left behind. Files written to /workspace/artifacts are kept; with a project_id, those in /workspace/work are there in the next call.',
  inputSchema: { ...schema, properties: inputs, required: ['code', 'language'] },
  outputSchema: runCodeAnswerSchema,
  annotations: { readOnlyHint: false, openWorldHint: false },
};

/** What came of it, as a model and a program read it. */
export function codeResultOf(answer: RunCodeAnswer): CallToolResult {
  const { success, stdout, stderr, error, status } = answer;
  const parts = [
    ...(error === null ? [] : [error]),
    ...(status === 'awaiting_approval' ? [waitsForApproval(answer.exec_id)] : []),
    ...(stdout === '' ? [] : [success ? stdout : `stdout:\n${stdout}`]),
    ...(stderr === '' ? [] : [`stderr:\n${stderr}`]),
  ];
  return {
    content: [{ type: 'text', text: parts.join('\n\n') }, ...linksOf(answer)],
    structuredContent: { ...answer },
    ...(success ? {} : { isError: true }),
    _meta: { 'secbox/exec_id': answer.exec_id, 'secbox/status': status },
  };
}
