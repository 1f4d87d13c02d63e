import { randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, errorCode } from './failure.mjs';
import { parseJson } from './json.mjs';
import { isSameProcess, startTime } from './process-identity.mjs';

const POLL_MS = 50;
const FREE = 'free';

/**
 * Runs `work` while no other process holds the lock of this folder.
 *
 * Holders are numbered files. A claim is `link` to the next number, which only
 * one process can win; a holder that died is passed over by claiming the number
 * after it, so nobody ever deletes a lock that might be alive. The number of a
 * released lock stays behind as `free`: were numbers to start again, a slow
 * claimant could win an old one. It therefore looks again after its claim and
 * gives way to any higher number.
 *
 * @template T
 * @param {string} folder
 * @param {{ signal: AbortSignal, timeoutMs: number, onWait?: (pid: number) => void }} options
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(folder, options, work) {
  await mkdir(folder, { recursive: true });
  const unique = randomUUID();
  const mine = path.join(folder, `claim-${unique}`);
  await writeFile(mine, JSON.stringify({ pid: process.pid, started: await startTime(process.pid) }));
  const held = await claim(folder, mine, options).finally(() => rm(mine, { force: true }));
  try {
    return await work();
  } finally {
    // Renamed over, not written in place: a reader must never see half of it.
    const released = path.join(folder, `released-${unique}`);
    await writeFile(released, FREE);
    await rename(released, held);
  }
}

/**
 * @param {string} folder
 * @param {string} mine
 * @param {{ signal: AbortSignal, timeoutMs: number, onWait?: (pid: number) => void }} options
 * @returns {Promise<string>} the lock file that is ours now
 */
async function claim(folder, mine, { signal, timeoutMs, onWait }) {
  const deadline = Date.now() + timeoutMs;
  for (let waited = false; ;) {
    const top = Math.max(0, ...(await numbers(folder)));
    const holder = top === 0 ? undefined : await liveHolder(path.join(folder, String(top)));
    if (holder === undefined) {
      const held = path.join(folder, String(top + 1));
      if (await linked(mine, held)) {
        const all = await numbers(folder);
        if (Math.max(...all) === top + 1) {
          for (const number of all)
            if (number <= top) await rm(path.join(folder, String(number)), { force: true });
          return held;
        }
        await rm(held, { force: true });
      }
      continue;
    }
    if (Date.now() > deadline) {
      throw new Failure(`Another process (pid ${holder}) has held ${folder} for too long.`, {
        remedy: `If that process is stuck, end it (kill ${holder}) and try again.`,
      });
    }
    if (!waited) onWait?.(holder);
    waited = true;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** @param {string} folder */
async function numbers(folder) {
  return (await readdir(folder)).filter((name) => /^[1-9]\d*$/.test(name)).map(Number);
}

/**
 * @param {string} from
 * @param {string} to
 */
async function linked(from, to) {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * @param {string} file
 * @returns {Promise<number | undefined>} the pid, or undefined when free or dead
 */
async function liveHolder(file) {
  const text = await readFile(file, 'utf8').catch((/** @type {unknown} */ error) => {
    if (errorCode(error) === 'ENOENT') return FREE;
    throw error;
  });
  if (text === FREE) return undefined;
  const { pid, started } = /** @type {{ pid: number, started: string }} */ (parseJson(text));
  return (await isSameProcess(pid, started)) ? pid : undefined;
}
