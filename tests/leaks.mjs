import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mountsBelow, unmountBelow } from '../docker/setup/unmount.mjs';
import { commandLine } from '../docker/setup/process-identity.mjs';

/** @typedef {import('../docker/setup/engine-api.mjs').EngineApi} EngineApi */

const OURS = { filters: JSON.stringify({ label: ['secbox'] }) };
const DATA_DIR = 'secbox.data_dir';

/**
 * Ends what tests left behind: processes, mounts and loop devices of their temporary folder,
 * and containers and volumes of servers whose data was in it.
 *
 * @param {EngineApi | undefined} api
 * @param {string} temporary
 * @returns {Promise<string[]>} what was left, one line each
 */
export async function endLeaks(api, temporary) {
  /** @param {Record<string, string> | null} labels */
  const isOfTests = (labels) => (labels?.[DATA_DIR] ?? '').startsWith(`${temporary}/`);
  return [
    ...(await endProcesses(temporary)),
    ...(api === undefined ? [] : await removeContainers(api, isOfTests)),
    ...(api === undefined ? [] : await removeVolumes(api, isOfTests)),
    ...unmount(temporary),
    ...(await detach(temporary)),
  ];
}

/** @param {string} temporary */
async function endProcesses(temporary) {
  if (process.platform !== 'linux') return [];
  /** @type {string[]} */
  const ended = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const words = await commandLine(pid);
    if (!words.some((word) => word.includes(`${temporary}/`))) continue;
    ended.push(`process ${pid}: ${words.join(' ')}`);
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended in the meantime.
    }
  }
  return ended;
}

/**
 * @param {EngineApi} api
 * @param {(labels: Record<string, string> | null) => boolean} isOfTests
 */
async function removeContainers(api, isOfTests) {
  const all = /** @type {{ Id: string, Names: string[], Labels: Record<string, string> | null }[]} */ (
    await api.call('GET', '/containers/json', { query: { all: '1', ...OURS } })
  );
  const left = all.filter(({ Labels }) => isOfTests(Labels));
  for (const { Id } of left) await api.call('DELETE', `/containers/${Id}`, { query: { force: '1', v: '1' } });
  return left.map(({ Id, Names }) => `container ${Names[0] ?? Id}`);
}

/**
 * @param {EngineApi} api
 * @param {(labels: Record<string, string> | null) => boolean} isOfTests
 */
async function removeVolumes(api, isOfTests) {
  const { Volumes } =
    /** @type {{ Volumes: { Name: string, Labels: Record<string, string> | null }[] | null }} */ (
      await api.call('GET', '/volumes', { query: OURS })
    );
  const left = (Volumes ?? []).filter(({ Labels }) => isOfTests(Labels));
  for (const { Name } of left) await api.call('DELETE', `/volumes/${Name}`, { query: { force: '1' } });
  return left.map(({ Name }) => `volume ${Name}`);
}

/** @param {string} temporary */
function unmount(temporary) {
  if (process.platform !== 'linux') return [];
  const left = mountsBelow(temporary);
  unmountBelow(temporary);
  return left.map((point) => `mount ${point}`);
}

/** @param {string} temporary */
async function detach(temporary) {
  // The kernel detaches the file of a disk a moment after it was unmounted.
  for (let tries = 100; tries > 0 && loopDevicesOf(temporary).length > 0; tries -= 1)
    await new Promise((resolve) => setTimeout(resolve, 50));
  const left = loopDevicesOf(temporary);
  for (const { device } of left) spawnSync('losetup', ['--detach', device], { stdio: 'ignore' });
  return left.map(({ device, file }) => `loop device ${device} of ${file}${holdersOf(device)}`);
}

/**
 * A container has mounts of its own: its processes keep a disk that is mounted nowhere else.
 *
 * @param {string} device
 * @returns {string} who has it mounted, for a line about it
 */
function holdersOf(device) {
  const holders = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readIfThere(`/proc/${name}/mountinfo`).includes(` ${device} `))
    .map((pid) => `${pid} (${readIfThere(`/proc/${pid}/comm`).trim()})`);
  return holders.length === 0 ? '' : `, mounted for ${holders.join(', ')}`;
}

/**
 * @param {string} folder
 * @returns {{ device: string, file: string }[]} devices of files below it
 */
export function loopDevicesOf(folder) {
  if (process.platform !== 'linux') return [];
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop'))
    .map((name) => ({ device: `/dev/${name}`, file: backingFile(name) }))
    .filter(({ file }) => file.startsWith(`${folder}/`));
}

/** @param {string} device */
function backingFile(device) {
  return readIfThere(`/sys/block/${device}/loop/backing_file`).trim();
}

/**
 * @param {string} file of a device or process that may be gone
 * @returns {string}
 */
function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
