import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import yazl from 'yazl';
import type { Command } from '../command.js';
import { CommandFailure, exitCodes, UsageError } from '../exit-codes.js';
import { credentialsOf, serverOptions } from '../server.js';
import type { Surroundings } from '../surroundings.js';
import { oneLine, sizeText } from '../terminal.js';

interface Uploaded {
  readonly status: string;
  readonly data: string | { readonly code: string; readonly message: string };
}

export const skillPush: Command = {
  name: 'skill push',
  words: '<folder or ZIP>',
  summary: 'Upload a skill as files, for one user of an agent or as its baseline',
  details: `A folder is packed first; links in it are refused. What was there under its name is replaced whole.
Writing a baseline takes a key with the role author.`,
  options: {
    user: { type: 'string', value: 'ID', help: 'whose it is, or who writes the baseline' },
    agent: { type: 'string', value: 'ID', help: 'the agent it is for' },
    baseline: { type: 'boolean', help: 'make it the baseline of the agent' },
    ...serverOptions,
  },
  run: async (call, surroundings) => {
    const { terminal, cwd } = surroundings;
    const [word] = call.words;
    const [user, agent] = [call.text('user'), call.text('agent')];
    if (word === undefined || call.words.length > 1) throw new UsageError('Name one folder or ZIP to push.');
    if (user === undefined || agent === undefined) throw new UsageError('Name --user and --agent.');
    const scope = call.flag('baseline') ? 'baseline' : 'overlay';
    const path = `/v1/skills/${encodeURIComponent(user)}/${encodeURIComponent(agent)}/upload?scope=${scope}`;
    const source = resolve(cwd, word);
    const scratch = await mkdtemp(join(tmpdir(), 'secbox-push-'));
    try {
      const archive = (await isFolder(source, word)) ? await packed(source, scratch) : source;
      const name = archive === source ? basename(source) : `${basename(source)}.zip`;
      const server = credentialsOf({ url: call.text('url'), keyFile: call.text('key-file') }, surroundings);
      terminal.result(oneLine(await push(archive, name, { ...server, path }, surroundings)));
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
    return exitCodes.good;
  },
};

async function isFolder(source: string, word: string): Promise<boolean> {
  try {
    return (await stat(source)).isDirectory();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${word} cannot be read: ${why}`);
  }
}

async function packed(folder: string, scratch: string): Promise<string> {
  const zip = new yazl.ZipFile();
  for (const path of (await readdir(folder, { recursive: true })).sort()) {
    const file = join(folder, path);
    const found = await lstat(file);
    if (found.isDirectory()) continue;
    if (!found.isFile()) throw new UsageError(`${path} is no file; links and the like are not pushed.`);
    const name = join(basename(folder), relative(folder, file)).replaceAll('\\', '/');
    zip.addFile(file, name, { mode: (found.mode & 0o100) === 0 ? 0o100644 : 0o100755 });
  }
  zip.end();
  const archive = join(scratch, 'skill.zip');
  await pipeline(zip.outputStream, createWriteStream(archive));
  return archive;
}

interface Target {
  readonly url: string;
  readonly key: string | undefined;
  readonly path: string;
}

/** As it is read, so that an archive of any size takes no memory. */
async function push(
  archive: string,
  name: string,
  { url, key, path }: Target,
  { terminal, stopped: signal }: Surroundings,
): Promise<string> {
  const { size } = await stat(archive);
  const boundary = `secbox-${crypto.randomUUID()}`;
  const quoted = name.replaceAll(/["\r\n\\]/g, '_');
  const head = Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${quoted}"\r\ncontent-type: application/zip\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* parts() {
    yield head;
    let sent = 0;
    for await (const chunk of createReadStream(archive) as AsyncIterable<Buffer>) {
      yield chunk;
      sent += chunk.length;
      terminal.progress(
        `${sizeText(sent)} of ${sizeText(size)}, ${Math.floor((100 * sent) / Math.max(size, 1))} %`,
      );
    }
    yield tail;
    terminal.progress('Waiting for the server to take it over …');
  }
  const response = await fetch(new URL(path, url), {
    method: 'POST',
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: Readable.toWeb(Readable.from(parts())),
    duplex: 'half',
    signal,
  }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    const { cause } = error as { cause?: unknown };
    const why = cause instanceof Error ? cause.message : String(error);
    throw new CommandFailure(`${url} cannot be reached, or broke off: ${why}.`, exitCodes.refused);
  });
  const answer = (await response.json().catch(() => ({}))) as Partial<Uploaded>;
  if (response.ok && typeof answer.data === 'string') return answer.data;
  const { code = String(response.status), message = 'The server did not take it.' } =
    typeof answer.data === 'object' ? answer.data : {};
  throw new CommandFailure(
    `${oneLine(message)} (${code})`,
    response.status === 400 ? exitCodes.usage : exitCodes.refused,
  );
}
