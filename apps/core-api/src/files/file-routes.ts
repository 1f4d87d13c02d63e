import {
  fileContentQuerySchema,
  fileListQuerySchema,
  fileMoveQuerySchema,
  filePathQuerySchema,
  fileSearchQuerySchema,
  fileWriteQuerySchema,
  SecboxError,
  type FileContentQuery,
  type FileListQuery,
  type FileMoveQuery,
  type FilePathQuery,
  type FileSearchQuery,
  type FileWriteQuery,
} from '@secbox/contracts';
import type { Principal } from '@secbox/access';
import type { Listing } from '@secbox/workspace';
import type { Request, Response } from 'express';
import type { GuardedRoutes } from '../guarded-routes.js';
import { queryReader } from '../read-query.js';
import type { RouteName } from '../route-access.js';
import { etagOf, sendFile } from '../send-file.js';
import type { AreaChange, FileArea } from './file-area.js';
import { bytesIn, preconditionIn, textBody, textIn, whileThereIsRoom } from './receive-body.js';
import type { UploadsAtOnce } from './uploads-at-once.js';

export interface FileRoutesOptions {
  /** What the paths of the calls begin with, as the table of access names it. */
  readonly prefix: string;
  /** The last part of the path of the list. */
  readonly list: string;
  /** The area that a request is about; throws when it is none, or not for this caller. */
  readonly areaOf: (request: Request, caller: Principal) => Promise<FileArea>;
  /** Throws when there is no room for more. */
  readonly assertRoom: () => void;
  readonly uploads: UploadsAtOnce;
  readonly maxBodyBytes: number;
  readonly maxFileBytes: number;
  /** How answers are told. */
  readonly answers: {
    readonly plain: (data: unknown) => unknown;
    readonly list: (listing: Listing<{ readonly path: string }>, isPaged: boolean) => unknown;
    readonly edited: (change: AreaChange) => unknown;
  };
}

const mostListed = 10_000;

/** What can be done with files, at one prefix. */
export function fileRoutes(routes: GuardedRoutes<RouteName>, options: FileRoutesOptions): void {
  const { prefix, list, areaOf, assertRoom, uploads, maxBodyBytes, maxFileBytes, answers } = options;
  const at = (method: 'GET' | 'PUT' | 'POST' | 'DELETE', call: string) =>
    `${method} ${prefix}/${call}` as RouteName;
  const readPath = queryReader<FilePathQuery>(filePathQuerySchema);
  const readList = queryReader<FileListQuery>(fileListQuerySchema);
  const readContent = queryReader<FileContentQuery>(fileContentQuerySchema);
  const readWrite = queryReader<FileWriteQuery>(fileWriteQuerySchema);
  const readMove = queryReader<FileMoveQuery>(fileMoveQuerySchema);
  const readSearch = queryReader<FileSearchQuery>(fileSearchQuerySchema);

  routes.on(at('GET', list), async (request, response, caller) => {
    const { limit, after } = readList(request);
    const area = await areaOf(request, caller);
    const listing = await area.list({ after, limit: limit ?? mostListed });
    if (limit === undefined && listing.more) throw tooMany();
    response.json(answers.list(listing, limit !== undefined));
  });

  routes.on(at('GET', 'content'), async (request, response, caller) => {
    const { path, ...range } = readContent(request);
    const area = await areaOf(request, caller);
    const byLines = range.start !== undefined || range.end !== undefined;
    const { content, etag } = byLines
      ? await area.readLines(path, range).then(({ lines, ...rest }) => ({ content: lines, ...rest }))
      : await area.readText(path).then(({ text, ...rest }) => ({ content: text, ...rest }));
    tag(response, etag).json(answers.plain({ content }));
  });

  routes.on(at('GET', 'stat'), async (request, response, caller) => {
    const { path } = readPath(request);
    const facts = await (await areaOf(request, caller)).stat(path);
    tag(response, facts.etag).json(answers.plain(facts));
  });

  routes.on(at('GET', 'search'), async (request, response, caller) => {
    const { text, folder, limit, ignore_case: ignoreCase } = readSearch(request);
    const area = await areaOf(request, caller);
    const query = {
      text,
      ignoreCase: ignoreCase === 'true',
      ...(folder === undefined ? {} : { folder: folder.replace(/\/$/, '') }),
      ...(limit === undefined ? {} : { limit }),
    };
    response.json(answers.plain(await area.search(query)));
  });

  routes.on(at('GET', 'file'), async (request, response, caller) => {
    const { path } = readPath(request);
    const opened = await (await areaOf(request, caller)).open(path);
    await sendFile(request, response, opened, path.split('/').at(-1) ?? 'file');
  });

  routes.on(at('PUT', 'file'), async (request, response, caller) => {
    const { path, executable } = readWrite(request);
    const area = await areaOf(request, caller);
    const bytes = Number(request.headers['content-length'] ?? maxFileBytes);
    if (bytes > maxFileBytes) throw tooLarge(maxFileBytes);
    refuseEncoded(request);
    assertRoom();
    const writing = {
      ...(await conditionsOf(request, area, path)),
      mostBytes: maxFileBytes,
      executable: executable === undefined ? undefined : executable === 'true',
    };
    const change = await uploads.run(caller, bytes, () =>
      area.write(path, whileThereIsRoom(bytesIn(request), assertRoom), writing),
    );
    tag(response, change.etag).json(answers.plain(told(change)));
  });

  routes.on(
    at('PUT', 'edit'),
    async (request, response, caller) => {
      const { path, ...range } = readContent(request);
      const area = await areaOf(request, caller);
      assertRoom();
      const conditions = await conditionsOf(request, area, path);
      const change = await area.edit(path, textIn(request), { ...range, ...conditions });
      tag(response, change.etag).json(answers.edited(told(change)));
    },
    textBody(maxBodyBytes),
  );

  routes.on(at('DELETE', 'file'), async (request, response, caller) => {
    const { path } = readPath(request);
    const area = await areaOf(request, caller);
    await area.delete(path, await conditionsOf(request, area, path));
    response.json(answers.plain({ path }));
  });

  routes.on(at('POST', 'move'), async (request, response, caller) => {
    const { from, to } = readMove(request);
    const area = await areaOf(request, caller);
    await area.move(from, to, await conditionsOf(request, area, from));
    response.json(answers.plain({ from, to }));
  });
}

function conditionsOf(request: Request, area: FileArea, path: string) {
  return preconditionIn(request, async () => (await area.stat(path)).etag);
}

function tag(response: Response, etag: string): Response {
  return response.setHeader('etag', etagOf(etag)).setHeader('cache-control', 'private, no-cache');
}

function told({ path, bytes, etag, created }: AreaChange): AreaChange {
  return { path, bytes, etag, created };
}

/** Its bytes are kept as they come. */
function refuseEncoded({ headers }: Request): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return;
  throw new SecboxError('unsupported_media_type', 'Send the bytes of the file as they are, not packed.');
}

function tooMany(): SecboxError {
  return new SecboxError(
    'listing_too_large',
    `There are more than ${mostListed} files; ask for pages of them, with limit and after.`,
    { details: { most: mostListed } },
  );
}

function tooLarge(most: number): SecboxError {
  return new SecboxError('file_too_large', `A file has at most ${most} bytes.`, { details: { most } });
}
