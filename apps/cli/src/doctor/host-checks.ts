import { access, constants, statfs } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { sizeText } from '../terminal.js';
import { bad, good, reasonOf, warning, type Finding } from './finding.js';

const leastNode = [20, 15] as const;
/** Below the first nothing starts, as Settings have it by default; below the second that is near. */
const leastFreeBytes = 1024 ** 3;
const littleFreeBytes = 10 * 1024 ** 3;

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [leastMajor, leastMinor] = leastNode;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return good('Node', version);
  return bad('Node', `${version} is too old`, `Install Node ${leastNode.join('.')} or later.`);
}

export async function checkDataFolder(folder: string): Promise<Finding> {
  if (!existsSync(folder)) {
    return warning(
      'data folder',
      `${folder} is not there yet`,
      '"npm start" makes it, or set SECBOX_DATA_DIR.',
    );
  }
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return good('data folder', folder);
  } catch (error) {
    return bad(
      'data folder',
      reasonOf(error),
      'Let the user that runs the service own it, or set SECBOX_DATA_DIR.',
    );
  }
}

export async function checkDisk(folder: string): Promise<Finding> {
  const existing = existsSync(folder) ? folder : dirname(folder);
  try {
    const { bavail, blocks, bsize } = await statfs(existing);
    const [free, total] = [bavail * bsize, blocks * bsize];
    const text = `${sizeText(free)} of ${sizeText(total)} free`;
    const advice = 'Free some, or lower retention in Settings; below 1 GB nothing starts.';
    if (free < leastFreeBytes) return bad('disk', text, advice);
    return free < littleFreeBytes ? warning('disk', text, advice) : good('disk', text);
  } catch (error) {
    return warning('disk', reasonOf(error), 'Look for yourself how much room there is.');
  }
}
