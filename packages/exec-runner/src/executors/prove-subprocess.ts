import { containerPaths } from '@secbox/container-engine';
import type { Workspace, WorkspaceMounts } from '@secbox/workspace';
import { underInit, type ContainerProcess, type Outputs } from '../container-process.js';
import { settledWithin } from '../settled-within.js';
import type { Subprocess } from './subprocess.js';

const place = 'self-test-subprocess';
const commandMs = 10_000;

/** What must be so, told by a command from inside, in the order in which it is printed. */
const script = [
  'test "$(id -u):$(id -g)" = 1000:1000 || echo it is another user',
  'test "$(grep -c . /proc/net/dev)" = 3 || echo it has a network',
  'grep -q "^CapBnd:[[:space:]]*0*$" /proc/self/status || echo it has capabilities',
  'grep -q "^NoNewPrivs:[[:space:]]*1$" /proc/self/status || echo it can gain rights',
  'unshare -U true 2>/dev/null && echo it can make user namespaces',
  'touch /workspace/work/f /workspace/artifacts/f || echo it cannot write to its folders',
  'touch /workspace/inputs/f 2>/dev/null && echo it can write to its inputs',
  'touch /usr/f /f 2>/dev/null && echo it can write to the host',
  'if command -v python3 >/dev/null && python3 -c \'import sys; sys.exit("" not in sys.path)\'; then',
  'echo its python loads modules from where it works; fi',
].join('\n');

/** Tries from inside what a subprocess is held by; undefined when all of it holds, else why it is of no use here. */
export async function proveSubprocess(
  workspace: Workspace,
  launch: (mounts: WorkspaceMounts) => Subprocess,
  {
    readied,
    environment,
  }: {
    readonly readied: (command: ContainerProcess, subprocess: Subprocess, stop: AbortSignal) => Promise<void>;
    readonly environment: Readonly<Record<string, string>>;
  },
): Promise<string | undefined> {
  const { mounts } = workspace.prepareSelfTest(place);
  const subprocess = launch(mounts);
  try {
    const command = underInit(subprocess.attachment);
    await readied(command, subprocess, new AbortController().signal);
    const said: Buffer[] = [];
    const keep = { append: (data: Buffer) => Promise.resolve(void said.push(data)) };
    const ended = await settledWithin(
      commandMs,
      command.run(
        {
          kind: 'argv',
          command: 'sh',
          args: ['-c', script],
          cwd: containerPaths.work,
          environment,
          environmentKeys: [],
          stdin: '',
        },
        { stdout: keep, stderr: keep } as unknown as Outputs,
      ),
    );
    const told = Buffer.concat(said).toString().trim().split('\n').filter(Boolean).join('; ');
    if (ended?.exit?.code !== 0 || told !== '') return told || 'a first command did not end as it should';
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await subprocess.end();
    await workspace.removeSelfTest(place);
  }
}
