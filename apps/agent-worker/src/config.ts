import { toolNamings, type ToolNaming } from '@secbox/mcp-skills';

export interface WorkerConfig {
  readonly url: string;
  readonly key: string | undefined;
  readonly naming: ToolNaming;
  readonly projectId: string | undefined;
  readonly pollMs: number;
}

/** The variables this worker reads, in the order of its README's table; a test keeps both in step. */
export const workerVariables = [
  'SECBOX_URL',
  'SECBOX_KEY',
  'SECBOX_KEY_FILE',
  'SECBOX_TOOL_NAMES',
  'SECBOX_PROJECT_ID',
  'SECBOX_SKILLS_POLL_MS',
] as const;

type Variable = (typeof workerVariables)[number];

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Everything that is wrong, in one message. */
export function readWorkerConfig(
  environment: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string,
): WorkerConfig {
  const problems: string[] = [];
  const read = (name: Variable) => environment[name]?.trim() || undefined;
  const url = read('SECBOX_URL') ?? 'http://127.0.0.1:8003';
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    problems.push(`SECBOX_URL="${url}" is no URL of a server.`);
  const naming = read('SECBOX_TOOL_NAMES') ?? 'dots';
  const known = toolNamings.find((each) => each === naming);
  if (!known) problems.push(`SECBOX_TOOL_NAMES="${naming}" must be one of ${toolNamings.join(', ')}.`);
  const poll = read('SECBOX_SKILLS_POLL_MS') ?? '2000';
  if (!/^\d{2,7}$/.test(poll))
    problems.push(`SECBOX_SKILLS_POLL_MS="${poll}" must be a whole number from 10 on.`);
  const key = read('SECBOX_KEY') ?? keyIn(read('SECBOX_KEY_FILE'), readFile, problems);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return { url, key, naming: known ?? 'dots', projectId: read('SECBOX_PROJECT_ID'), pollMs: Number(poll) };
}

function keyIn(
  path: string | undefined,
  readFile: (path: string) => string,
  problems: string[],
): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFile(path).trim();
  } catch (error) {
    problems.push(`SECBOX_KEY_FILE: ${error instanceof Error ? error.message : String(error)}.`);
    return undefined;
  }
}
