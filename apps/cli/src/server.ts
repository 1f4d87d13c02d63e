import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SecboxClient } from '@secbox/client';
import type { Call, CommandOption } from './command.js';
import { CommandFailure, exitCodes, UsageError } from './exit-codes.js';
import type { ServerChoice, Surroundings } from './surroundings.js';

export const serverOptions = {
  url: { type: 'string', value: 'URL', help: 'the server ($SECBOX_URL, else http://127.0.0.1:8003)' },
  'key-file': {
    type: 'string',
    value: 'FILE',
    help: "a file with an API key ($SECBOX_KEY, $SECBOX_KEY_FILE, else npm start's own)",
  },
} as const satisfies Record<string, CommandOption>;

export function serverOf(call: Call, { connect }: Surroundings): SecboxClient {
  return connect({ url: call.text('url'), keyFile: call.text('key-file') });
}

type Place = Pick<Surroundings, 'environment' | 'root' | 'cwd'>;

export function urlOf({ url }: ServerChoice, { environment }: Pick<Place, 'environment'>): string {
  return url ?? (environment['SECBOX_URL']?.trim() || 'http://127.0.0.1:8003');
}

export function connectTo(choice: ServerChoice, place: Place): SecboxClient {
  try {
    return new SecboxClient({ url: urlOf(choice, place), key: keyOf(choice, place) });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

/** For what the SDK has no call for. */
export function credentialsOf(
  choice: ServerChoice,
  place: Place,
): { readonly url: string; readonly key: string | undefined } {
  const url = urlOf(choice, place);
  if (!URL.canParse(url)) throw new UsageError(`${url} is no URL.`);
  return { url, key: keyOf(choice, place) };
}

/** The key that was named; else, for a server on this machine, the one that npm start made. */
function keyOf(choice: ServerChoice, place: Place): string | undefined {
  const { environment, root, cwd } = place;
  if (choice.keyFile !== undefined) return readKey(resolve(cwd, choice.keyFile));
  const key = environment['SECBOX_KEY']?.trim();
  if (key) return key;
  const file = environment['SECBOX_KEY_FILE']?.trim();
  if (file) return readKey(resolve(cwd, file));
  const made = join(dataFolder(place), 'dev.key');
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(urlOf(choice, place)).hostname);
  return isHere && existsSync(made) && root !== '' ? readKey(made) : undefined;
}

export function dataFolder({ environment, root }: Pick<Place, 'environment' | 'root'>): string {
  return resolve(root, environment['SECBOX_DATA_DIR']?.trim() || 'data');
}

function readKey(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(`The key cannot be read: ${why}`, exitCodes.usage);
  }
}
