import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ArtifactListing, ExecAnswer, InputListing } from '@secbox/contracts';
import { createHash } from 'node:crypto';
import { readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { request as rawRequest } from 'node:http';
import { join } from 'node:path';
import { startRunningService, type RunningService } from '../exec/running-service.js';

let service: RunningService;
let answer: ExecAnswer;
let listing: ArtifactListing;

/** Names as hostile as a program can make them, by the content of the file. */
const names: Readonly<Record<string, string>> = {
  plain: 'plain.txt',
  nested: 'a/b c/deep.bin',
  newline: 'line\nbreak\r\nx-injected: 1',
  script: '<script>alert(1)</script>.html',
  svg: 'image.svg',
  right: 'exe.\u202egnp',
  dash: '-rf',
  quote: `"; filename="evil.exe`,
  percent: '100%25.txt',
  backslash: '..\\..\\evil',
  snow: '雪.txt',
  dots: '...',
};

beforeAll(async () => {
  service = await startRunningService();
  const code = `
import os, json
os.chdir('/workspace/artifacts')
for content, name in json.load(open('/workspace/inputs/names.json')).items():
    os.makedirs(os.path.dirname(name) or '.', exist_ok=True)
    open(name, 'w').write(content)
open(b'raw-\\xff\\xfe', 'w').write('raw')
open('empty', 'w')
os.symlink('/etc/shadow', 'shadow')
os.symlink('/proc/self/environ', 'environ')
os.symlink('plain.txt', 'inside')
os.symlink('a', 'folder')
for n in range(8): os.mkfifo('fifo-%d' % n)
print('printed')
`;
  answer = await service.python(code, {
    inputs: [
      { path: 'names.json', content: JSON.stringify(names) },
      { path: 'key', content: 'hush', secret: true },
    ],
  });
  expect(answer).toMatchObject({ status: 'succeeded', artifacts_complete: true });
  const response = await get(`${answer.artifacts_url}?limit=1000`);
  listing = (await response.json()) as ArtifactListing;
});
afterAll(() => service.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}${path}`, { headers });
const urlOf = (path: string) => `/sandbox/execs/${answer.exec_id}/${path}`;
const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code;

/** The path exactly as it is given: fetch would resolve dots. */
function rawStatus(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = rawRequest(`${service.url}/`, { path }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once('error', reject).end();
  });
}

describe('the list of artifacts', () => {
  test('has every name, with its raw bytes where it is not UTF-8 (case 25)', () => {
    const files = listing.artifacts.filter(({ kind }) => kind === 'file');
    const listed = files.map(({ path }) => path);
    expect(listed).toEqual(expect.arrayContaining(Object.values(names)));
    const raw = files.find(({ path_base64: base64 }) => base64 !== undefined);
    expect(Buffer.from(raw?.path_base64 ?? '', 'base64')).toEqual(Buffer.from('raw-\xff\xfe', 'latin1'));
    expect(listing.next_cursor).toBeNull();
    const inAnswer = answer.artifacts.map(({ path, url }) => ({ path, url }));
    expect(inAnswer).toEqual(files.map(({ path, url }) => ({ path, url })));
  });

  test('has links and FIFOs as what they are, with nothing to download (cases 21, 22)', () => {
    const others = listing.artifacts.filter(({ kind }) => kind !== 'file');
    expect(others.map(({ path, kind }) => [path, kind])).toEqual([
      ['environ', 'symlink'],
      ...Array.from({ length: 8 }, (_, n) => [`fifo-${n}`, 'fifo']),
      ['folder', 'symlink'],
      ['inside', 'symlink'],
      ['shadow', 'symlink'],
    ]);
    for (const other of others) expect(other).toMatchObject({ url: null, size: null, sha256: null });
  });

  test('comes page by page', async () => {
    const found: unknown[] = [];
    let cursor: string | null = '';
    for (; cursor !== null;) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page = (await (await get(`${answer.artifacts_url}?limit=7${query}`)).json()) as ArtifactListing;
      expect(page.artifacts.length).toBeLessThanOrEqual(7);
      found.push(...page.artifacts);
      cursor = page.next_cursor;
    }
    expect(found).toEqual(listing.artifacts);
    expect((await get(`${answer.artifacts_url}?cursor=x`)).status).toBe(400);
  });
});

describe('the download of an artifact', () => {
  test('gives the exact bytes, whatever its name is (cases 25, 62)', async () => {
    const contents: string[] = [];
    for (const { kind, url, sha256, size } of listing.artifacts) {
      if (kind !== 'file') continue;
      const response = await get(url ?? '');
      expect([url, response.status]).toEqual([url, 200]);
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
      expect(bytes).toHaveLength(size ?? -1);
      contents.push(bytes.toString());
    }
    expect(contents.sort()).toEqual([...Object.keys(names), 'raw', ''].sort());
  });

  test('can only be saved by a browser, never run in our origin (case 29)', async () => {
    for (const [path, type] of [
      ['<script>alert(1)</script>.html', 'text/html'],
      ['image.svg', 'image/svg+xml'],
      ['plain.txt', 'text/plain'],
    ]) {
      const response = await get(listing.artifacts.find((each) => each.path === path)?.url ?? '');
      expect(response.headers.get('content-disposition')).toMatch(/^attachment(;|$)/);
      expect(response.headers.get('content-type')).toBe(type);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
      expect(response.headers.get('cross-origin-resource-policy')).toBe('same-origin');
    }
  });

  test('has names that are safe in headers (case 25)', async () => {
    for (const { kind, url } of listing.artifacts) {
      if (kind !== 'file') continue;
      const { headers } = await get(url ?? '');
      const disposition = headers.get('content-disposition') ?? '';
      // A token or a quoted string without a quote inside, and the same in the form of RFC 5987.
      expect(disposition).toMatch(
        /^attachment; filename=([\w!#$&+.^`|~%-]+|"([\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*")(; filename\*=utf-8''[\w!#$&+.^`|~%-]+)?$/i,
      );
      expect(headers.get('x-injected')).toBeNull();
    }
  });

  test('of a link, a FIFO or a folder, and through a link, is refused at once (cases 6, 21)', async () => {
    for (const path of ['shadow', 'environ', 'inside', 'fifo-0', 'a', 'folder/b%20c/deep.bin', 'nothing']) {
      const response = await get(urlOf(`artifacts/${path}`));
      expect([path, response.status, await codeOf(response)]).toEqual([path, 404, 'artifact_not_found']);
    }
  });

  test('of what is not an artifact of the exec is refused (cases 1, 2)', async () => {
    for (const path of [
      '../../../../../../etc/passwd',
      '..%2f..%2fetc%2fpasswd',
      '%2e%2e/%2e%2e/meta.json',
      '/etc/passwd',
      'a//plain.txt',
      './plain.txt',
      'a%2fb',
      'plain.txt%00',
      'x'.repeat(256),
    ]) {
      expect([path, await rawStatus(urlOf(`artifacts/${path}`))]).toEqual([path, 400]);
    }
    for (const path of ['meta.json', 'manifest.json', 'stdout.txt', 'PLAIN.TXT', 'plain.txt%20']) {
      expect([path, await rawStatus(urlOf(`artifacts/${path}`))]).toEqual([path, 404]);
    }
    const other = await service.shell('true');
    expect(await rawStatus(`/sandbox/execs/${other.exec_id}/artifacts/plain.txt`)).toBe(404);
    expect(await rawStatus('/sandbox/execs/nonsense/artifacts/plain.txt')).toBe(400);
  });

  test('knows ranges', async () => {
    const url = urlOf('artifacts/plain.txt');
    const of = async (headers: Record<string, string>) => {
      const response = await get(url, headers);
      return [response.status, await response.text(), response.headers.get('content-range')];
    };
    expect(await of({ range: 'bytes=1-2' })).toEqual([206, 'la', 'bytes 1-2/5']);
    expect(await of({ range: 'bytes=3-' })).toEqual([206, 'in', 'bytes 3-4/5']);
    expect(await of({ range: 'bytes=-2' })).toEqual([206, 'in', 'bytes 3-4/5']);
    expect(await of({ range: 'bytes=4-900' })).toEqual([206, 'n', 'bytes 4-4/5']);
    expect(await of({ range: 'bytes=0-0,3-3' })).toEqual([200, 'plain', null]);
    expect(await of({ range: 'lines=1' })).toEqual([200, 'plain', null]);
    expect(await of({ range: 'nonsense' })).toEqual([200, 'plain', null]);
    const past = await get(url, { range: 'bytes=9-' });
    expect([past.status, past.headers.get('content-range')]).toEqual([416, 'bytes */5']);
    const etag = (await get(url)).headers.get('etag') ?? '';
    expect(await of({ range: 'bytes=1-2', 'if-range': etag })).toEqual([206, 'la', 'bytes 1-2/5']);
    expect(await of({ range: 'bytes=1-2', 'if-range': '"other"' })).toEqual([200, 'plain', null]);
  });

  test('knows HEAD and what a client has already', async () => {
    const url = urlOf('artifacts/plain.txt');
    const head = await fetch(`${service.url}${url}`, { method: 'HEAD' });
    const sha256 = createHash('sha256').update('plain').digest('hex');
    expect([head.headers.get('etag'), head.headers.get('content-length'), await head.text()]).toEqual([
      `"${sha256}"`,
      '5',
      '',
    ]);
    const again = await get(url, { 'if-none-match': `"${sha256}"` });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect((await get(url, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  test('of what is not as it was recorded is refused', async () => {
    const { exec_id: id, artifacts_dir: folder } = await service.shell(
      'cd /workspace/artifacts; mkdir d; for f in grown swapped gone d/x; do echo hi > $f; done',
    );
    await writeFile(join(folder, 'grown'), 'hi\nmore');
    await rm(join(folder, 'swapped'));
    await symlink('/etc/passwd', join(folder, 'swapped'));
    await rm(join(folder, 'gone'));
    await rename(join(folder, 'd'), join(folder, 'e'));
    await symlink('e', join(folder, 'd'));
    const told = async (name: string) => {
      const response = await get(`/sandbox/execs/${id}/artifacts/${name}`);
      return [response.status, await codeOf(response)];
    };
    expect(await told('grown')).toEqual([409, 'artifact_changed']);
    expect(await told('swapped')).toEqual([409, 'artifact_changed']);
    expect(await told('gone')).toEqual([410, 'artifact_gone']);
    expect(await told('d/x')).toEqual([409, 'artifact_changed']);
  });
});

describe('many or large artifacts', () => {
  test('ten thousand are listed page by page, and the answer says that it has not all (case 8)', async () => {
    const many = await service.python(
      'for n in range(9000): open(f"/workspace/artifacts/{n:05}", "w").close()',
    );
    expect(many.artifacts).toHaveLength(100);
    expect(many.artifacts_complete).toBe(false);
    const first = (await (await get(`${many.artifacts_url}?limit=1000`)).json()) as ArtifactListing;
    expect(first.artifacts.map(({ path }) => path).slice(-1)).toEqual(['00999']);
    expect(first.next_cursor).not.toBeNull();
  });

  test('half a gigabyte goes through in flat memory, and whoever leaves leaves nothing open (case 8)', async () => {
    const size = 512 * 1024 ** 2;
    const large = await service.shell(`truncate -s ${size} /workspace/artifacts/large`, {
      policy_overrides: { max_artifacts_bytes_total: 1024 ** 3 },
    });
    expect(large.artifacts).toMatchObject([{ path: 'large', size }]);
    let most = 0;
    const before = process.memoryUsage().rss;
    const drain = async (path: string) => {
      const response = await get(path);
      let bytes = 0;
      for await (const chunk of response.body ?? []) {
        bytes += (chunk as Uint8Array).length;
        most = Math.max(most, process.memoryUsage().rss - before);
      }
      return bytes;
    };
    expect(await drain(large.artifacts[0]?.url ?? '')).toBe(size);
    expect(await drain(`/sandbox/execs/${large.exec_id}/artifacts.zip`)).toBeGreaterThan(1000);
    expect(most).toBeLessThan(size / 2);

    for (const path of [large.artifacts[0]?.url ?? '', `/sandbox/execs/${large.exec_id}/artifacts.zip`]) {
      const leaving = new AbortController();
      const response = await fetch(`${service.url}${path}`, { signal: leaving.signal });
      await response.body?.getReader().read();
      // The head of a ZIP comes before its first file is opened.
      while ((await openBelow(large.artifacts_dir)).length === 0)
        await new Promise((resolve) => setTimeout(resolve, 1));
      leaving.abort();
      while ((await openBelow(large.artifacts_dir)).length > 0)
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
});

/** What this process, which the service is a part of, holds open below a folder. */
async function openBelow(folder: string): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(folder));
}

describe('GET /sandbox/execs/{exec_id}/artifacts.zip', () => {
  test('has every file under a name that is safe to unpack (cases 10, 25)', async () => {
    const response = await get(urlOf('artifacts.zip'));
    expect(response.headers.get('content-type')).toBe('application/zip');
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename=${answer.exec_id}.zip`);
    const zip = Buffer.from(await response.arrayBuffer());
    const read = await service.python(
      `
import zipfile, json
with zipfile.ZipFile('/workspace/inputs/all.zip') as zip:
    assert zip.testzip() is None
    print(json.dumps({entry.filename: zip.read(entry).decode() for entry in zip.infolist()}))
`,
      { inputs: [{ path: 'all.zip', content_base64: zip.toString('base64') }] },
    );
    expect(JSON.parse(read.stdout)).toEqual({
      'stdout.txt': 'printed\n',
      'stderr.txt': '',
      'plain.txt': 'plain',
      'a/b c/deep.bin': 'nested',
      'line%0Abreak%0D%0Ax-injected%3A 1': 'newline',
      '%3Cscript%3Ealert(1)%3C/script%3E.html': 'script',
      'image.svg': 'svg',
      'exe.%E2%80%AEgnp': 'right',
      '-rf': 'dash',
      '%22; filename=%22evil.exe': 'quote',
      '100%2525.txt': 'percent',
      '..%5C..%5Cevil': 'backslash',
      '雪.txt': 'snow',
      '..%2E': 'dots',
      'raw-%FF%FE': 'raw',
      empty: '',
    });
  });

  test('of an exec that is not over is refused, and HEAD has no body', async () => {
    const head = await fetch(`${service.url}${urlOf('artifacts.zip')}`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test('ends where a file is not as it was recorded, so that nobody takes it for whole', async () => {
    const { exec_id: id, artifacts_dir: folder } = await service.shell('echo hi > /workspace/artifacts/a');
    await rm(join(folder, 'a'));
    const response = await get(`/sandbox/execs/${id}/artifacts.zip`);
    await expect(response.arrayBuffer()).rejects.toThrow();
  });
});

describe('what an exec printed', () => {
  test('is there whole and in parts, with its hash, when it is over', async () => {
    const response = await get(urlOf('stdout'));
    const sha256 = createHash('sha256').update('printed\n').digest('hex');
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(response.headers.get('etag')).toBe(`"${sha256}"`);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(await response.text()).toBe('printed\n');
    expect(await (await get(urlOf('stdout'), { range: 'bytes=2-4' })).text()).toBe('int');
    expect(await (await get(urlOf('stderr'))).text()).toBe('');
  });

  test('is exactly the bytes it wrote', async () => {
    const bytes = await service.python('import sys; sys.stdout.buffer.write(bytes(range(256)))');
    const got = await (await get(`/sandbox/execs/${bytes.exec_id}/stdout`)).arrayBuffer();
    expect(Buffer.from(got)).toEqual(Buffer.from(Array.from({ length: 256 }, (_, n) => n)));
  });

  test('is there so far while it runs, and never what the program planted in its place', async () => {
    const posted = await fetch(`${service.url}/sandbox/execs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', prefer: 'respond-async' },
      body: JSON.stringify({
        project_id: 'p',
        exec: {
          kind: 'shell',
          command: 'bash',
          args: ['-lc', 'echo forged > /workspace/artifacts/stdout.txt; echo begun; sleep 60; echo over'],
        },
      }),
    });
    const { exec_id: id } = (await posted.json()) as ExecAnswer;
    const path = `/sandbox/execs/${id}/stdout`;
    let text = '';
    while (text === '') text = await (await get(path)).text();
    expect(text).toBe('begun\n');
    const part = await get(path, { range: 'bytes=2-' });
    expect([part.status, await part.text(), part.headers.get('etag')]).toEqual([206, 'gun\n', null]);
    const zip = await get(`/sandbox/execs/${id}/artifacts.zip`);
    expect([zip.status, await codeOf(zip)]).toEqual([409, 'exec_not_over']);
    await fetch(`${service.url}/sandbox/execs/${id}/cancel`, { method: 'POST' });
    expect(await (await get(path)).text()).toBe('begun\n');
  });

  test('is nothing where nothing ran', async () => {
    const response = await fetch(`${service.url}/sandbox/execs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        project_id: 'p',
        exec: { kind: 'shell', command: 'bash', args: ['-lc', 'true'] },
        policy_overrides: { memory_mb: 99_999 },
      }),
    });
    const { error } = (await response.json()) as { error: { details: { exec_id: string } } };
    const got = await get(`/sandbox/execs/${error.details.exec_id}/stdout`);
    expect([got.status, await got.text()]).toEqual([200, '']);
  });
});

test('the list of inputs has what the exec could see, and of a secret one only that (case 67)', async () => {
  const { inputs } = (await (await get(urlOf('inputs'))).json()) as InputListing;
  const content = JSON.stringify(names);
  expect(inputs).toEqual(
    expect.arrayContaining([
      {
        path: 'names.json',
        size: Buffer.byteLength(content),
        sha256: createHash('sha256').update(content).digest('hex'),
      },
      { path: 'key', secret: true },
    ]),
  );
});

test.each(['artifacts', 'artifacts/a', 'artifacts.zip', 'inputs', 'stdout', 'stderr'])(
  '…/%s: an exec that is not there is a 404, another method a 405 (case 54)',
  async (path) => {
    const id = '5f0c6f0e-3b0a-4d3e-9a55-0d6f6f1f2a11';
    const missing = await get(`/sandbox/execs/${id}/${path}`);
    expect([missing.status, await codeOf(missing)]).toEqual([404, 'exec_not_found']);
    const posted = await fetch(`${service.url}${urlOf(path)}`, { method: 'DELETE' });
    expect(posted.status).toBe(405);
    expect((await get(`/sandbox/execs/NONSENSE/${path}`)).status).toBe(400);
  },
);
