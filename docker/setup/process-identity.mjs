import { readFile } from 'node:fs/promises';
import { errorCode } from './failure.mjs';

/**
 * When a process started, in ticks since boot together with the boot's id: a
 * pid alone is not enough, as pids are used again. Empty where /proc is absent.
 *
 * @param {number} pid
 * @returns {Promise<string>}
 */
export async function startTime(pid) {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    // The program's name may hold spaces and brackets; what follows its last bracket may not.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'ended' : `${boot.trim()}/${fields[19] ?? ''}`;
  } catch {
    return '';
  }
}

/**
 * @param {number} pid
 * @param {string} started what startTime said of it then
 * @returns {Promise<boolean>} whether that very process is still alive
 */
export async function isSameProcess(pid, started) {
  if (!isAlive(pid)) return false;
  return started === '' || (await startTime(pid)) === started;
}

/**
 * @param {number} pid
 * @returns {boolean}
 */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/**
 * @param {number} pid
 * @returns {Promise<string[]>} its command line; empty when it is gone or a zombie
 */
export async function commandLine(pid) {
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return text.split('\0').filter((part) => part !== '');
}
