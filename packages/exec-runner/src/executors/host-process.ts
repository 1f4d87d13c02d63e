import { readdir, readFile, readlink } from 'node:fs/promises';
import { isErrno } from '@secbox/workspace';
import { pause } from '../pause.js';
import type { ExecProcesses } from './executor.js';

/** A process of this host that no other one can be taken for, whenever it is looked at. */
export interface HostProcess {
  readonly pid: number;
  /** In ticks since the host's start: a pid is given again, but not at the same moment. */
  readonly startTime: string;
  readonly bootId: string;
}

/** Undefined when it is not there any more. */
export async function hostProcess(pid: number): Promise<HostProcess | undefined> {
  const startTime = await startTimeOf(pid);
  if (startTime === undefined) return undefined;
  const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  return { pid, startTime, bootId };
}

/** Whether it is there, dead ones that nobody has waited for left out. */
export async function isAlive({ pid, startTime, bootId }: HostProcess): Promise<boolean> {
  const found = await hostProcess(pid);
  return found?.startTime === startTime && found.bootId === bootId;
}

export async function childrenOf(pid: number): Promise<number[]> {
  const list = await unlessGone(readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'));
  return (list ?? '').split(' ').filter(Boolean).map(Number);
}

const lookAgainMs = 10;

/** Kills those of them that live, and settles when none does; false when that takes longer than this. */
export async function killSurely(processes: readonly HostProcess[], withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  for (;;) {
    const alive: HostProcess[] = [];
    for (const found of processes) if (await isAlive(found)) alive.push(found);
    if (alive.length === 0) return true;
    if (performance.now() > until) return false;
    for (const { pid } of alive) kill(pid);
    await pause(lookAgainMs, new AbortController().signal);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!isErrno(error, 'ESRCH')) throw error;
  }
}

/** All processes of the PID namespace in which this one is the first. */
export function processesBelow(first: number): ExecProcesses {
  return {
    pids: async () => {
      const namespaceOf = (pid: string) => readlink(`/proc/${pid}/ns/pid`).catch(() => undefined);
      const wanted = await namespaceOf(String(first));
      if (wanted === undefined) return [];
      const found: string[] = [];
      for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)))
        if ((await namespaceOf(pid)) === wanted) found.push(pid);
      return found;
    },
  };
}

/** The second word, in brackets, may hold anything; what is wanted are the third and the twenty-second. */
async function startTimeOf(pid: number): Promise<string | undefined> {
  const stat = await unlessGone(readFile(`/proc/${pid}/stat`, 'utf8'));
  if (stat === undefined) return undefined;
  const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return words[0] === 'Z' || words[0] === 'X' ? undefined : words[19];
}

async function unlessGone(read: Promise<string>): Promise<string | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ESRCH')) return undefined;
    throw error;
  }
}
