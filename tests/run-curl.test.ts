import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { askByCurl, runCurl } from './run-curl.js';

let server: Server;
let url: string;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'secbox-curl-'));
  server = createServer((request, response) => {
    if (request.url === '/stream') {
      response.setHeader('x-kind', 'endless').write('first\n');
      return;
    }
    void text(request).then((body) => {
      const { method, url: path, headers } = request;
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ method, path, key: headers.authorization, type: headers['content-type'], body }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  server.closeAllConnections();
  server.close();
});

test('words are cut as by a shell: quotes side by side, variables, files, lines that go on', async () => {
  const file = join(folder, 'key');
  writeFileSync(file, 'k-1\n');
  const line = `curl -s -H "authorization: Bearer $(cat '${file}')" \\
    -H 'content-type: application/json' ${url}/a/$ID -d '{ "not": "$ID", "id": "'$ID'" }'`;
  expect(await runCurl(line, { variables: { ID: '7' } })).toEqual({
    method: 'POST',
    path: '/a/7',
    key: 'Bearer k-1',
    type: 'application/json',
    body: '{ "not": "$ID", "id": "7" }',
  });
});

test('a variable that nothing has said, a file that is not there and another option are errors', async () => {
  await expect(runCurl(`curl ${url}/$ID`)).rejects.toThrow('Nothing has said what ID is.');
  await expect(runCurl(`curl ${url} -T none.txt`)).rejects.toThrow('There is no file none.txt.');
  await expect(runCurl(`curl ${url} -k`)).rejects.toThrow('Our lines do not use -k.');
});

test('a file is put as it is, and a form has it as a part', async () => {
  const files = { 'a.txt': 'bytes' };
  expect(await runCurl(`curl -T a.txt ${url}/a`, { files })).toMatchObject({ method: 'PUT', body: 'bytes' });
  expect(await runCurl(`curl ${url} -F file=@a.txt -F 'x=1'`, { files })).toMatchObject({
    method: 'POST',
    type: expect.stringContaining('multipart/form-data; boundary='),
    body: expect.stringMatching(/name="file"; filename="a.txt"[^]*bytes[^]*name="x"[^]*1/),
  });
});

test('what has come of a stream in time is printed, with its headers where these are asked for', async () => {
  const { status, printed } = await askByCurl(`curl -s -i -m 0.3 ${url}/stream`);
  expect(status).toBe(200);
  expect(printed).toMatch(/^HTTP\/1.1 200 OK\nx-kind: endless\n(?:.+\n)*\nfirst\n$/);
  expect(await runCurl(`curl -s -D - -o out -m 0.3 ${url}/stream`)).toMatch(/^HTTP[^]*endless\n(?:.+\n)*\n$/);
});
