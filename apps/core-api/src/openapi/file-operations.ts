import {
  fileContentQuerySchema,
  fileListQuerySchema,
  fileMoveQuerySchema,
  filePathQuerySchema,
  fileSearchQuerySchema,
  fileWriteQuerySchema,
} from '@secbox/contracts';
import type { Operation } from './operation.js';

interface FileArea {
  readonly prefix: string;
  /** What the ids of the operations end with. */
  readonly of: string;
  /** For people. */
  readonly what: string;
  readonly tag: Operation['tag'];
  readonly list: string;
  /** What the names of the answers' schemas begin with. */
  readonly schemas: 'V1' | 'File';
}

const v1 = {
  listing: 'V1Files',
  content: 'V1Content',
  facts: 'V1FileFacts',
  change: 'V1FileChange',
  edited: 'V1Edited',
  deleted: 'V1FileDeleted',
  moved: 'V1FileMoved',
  search: 'V1Search',
} as const;
const plain = {
  listing: 'FileListing',
  content: 'FileContent',
  facts: 'FileFacts',
  change: 'FileChange',
  edited: 'FileChange',
  deleted: 'FileDeleted',
  moved: 'FileMoved',
  search: 'FileSearch',
} as const;

const conditions = {
  'If-Match': { description: 'The ETag of the file that is changed, or `*`.' },
  'If-None-Match': { description: '`*`: the file must not be there.' },
} as const;
const range = {
  Range: { description: 'One range of bytes.' },
  'If-Range': { description: 'The ETag that the range is of.' },
  'If-None-Match': { description: 'The ETag of what the client has.' },
} as const;
const bytes = ['application/octet-stream'] as const;
const reading = {
  400: 'A parameter is not valid, or it is no file.',
  404: 'There is no such file.',
} as const;
const unavailable = { 503: 'There is no room, or the database does not answer.' } as const;
const changing = {
  ...reading,
  403: 'The file is not for callers to change.',
  409: 'Something is in the way, or in use.',
  412: 'The file is not what the change begins from.',
  ...unavailable,
} as const;

/** What can be done with files in one place. */
export function fileOperations({ prefix, of, what, tag, list, schemas }: FileArea): readonly Operation[] {
  const names = schemas === 'V1' ? v1 : plain;
  const answer = (description: string, schema: string) => ({ 200: { description, schema } });
  const secret = { 403: 'The file is not for callers to see.' } as const;
  // Of projects, in whose folder of artifacts nothing is changed.
  const readOnly = schemas === 'V1' ? {} : { 405: 'What execs left behind is only read.' };
  return [
    {
      method: 'get',
      path: `${prefix}/${list}`,
      id: `listFilesOf${of}`,
      tag,
      summary: `List the files of ${what}, in the order of their paths`,
      query: fileListQuerySchema,
      answers: answer('Those there are, or one page of them.', names.listing),
      errors: { ...reading, 413: 'There are too many for one answer.', ...unavailable },
    },
    {
      method: 'get',
      path: `${prefix}/content`,
      id: `readFileOf${of}`,
      tag,
      summary: `Read a text file of ${what}, whole or by lines`,
      query: fileContentQuerySchema,
      answers: answer('The text, or, with start or end, an array of lines.', names.content),
      errors: {
        ...reading,
        ...secret,
        413: 'It is too large to be read in one piece.',
        415: 'It is no text.',
        ...unavailable,
      },
    },
    {
      method: 'get',
      path: `${prefix}/stat`,
      id: `statFileOf${of}`,
      tag,
      summary: `Get size, mode and ETag of a file of ${what}`,
      query: filePathQuerySchema,
      answers: answer('The file.', names.facts),
      errors: { ...reading, ...secret, ...unavailable },
    },
    {
      method: 'get',
      path: `${prefix}/search`,
      id: `searchFilesOf${of}`,
      tag,
      summary: `Search the text files of ${what} for a text`,
      query: fileSearchQuerySchema,
      answers: answer('The lines that have it.', names.search),
      errors: { ...reading, 413: 'There are too many files.', ...unavailable },
    },
    {
      method: 'get',
      path: `${prefix}/file`,
      id: `downloadFileOf${of}`,
      tag,
      summary: `Download a file of ${what}`,
      query: filePathQuerySchema,
      headers: range,
      answers: {
        200: { description: 'The bytes, to be saved.', types: bytes },
        206: { description: 'The range of them that was asked for.', types: bytes },
        304: { description: 'The client has them already.', nothing: true },
      },
      errors: { ...reading, ...secret, 416: 'There are no bytes in that range.', ...unavailable },
    },
    {
      method: 'put',
      path: `${prefix}/file`,
      id: `uploadFileOf${of}`,
      tag,
      summary: `Write a file of ${what}, as it is`,
      query: fileWriteQuerySchema,
      headers: conditions,
      bytes,
      answers: answer('What it is now.', names.change),
      errors: {
        ...changing,
        ...readOnly,
        413: 'It is too large.',
        415: 'The body is packed.',
        429: 'Too many uploads are under way already.',
      },
    },
    {
      method: 'put',
      path: `${prefix}/edit`,
      id: `editFileOf${of}`,
      tag,
      summary: `Replace a text file of ${what}, or some of its lines`,
      query: fileContentQuerySchema,
      headers: conditions,
      bytes: ['text/plain'],
      answers: answer('What it is now.', names.edited),
      errors: { ...changing, ...readOnly, 413: 'It is too large.', 415: 'The file is no text.' },
    },
    {
      method: 'delete',
      path: `${prefix}/file`,
      id: `deleteFileOf${of}`,
      tag,
      summary: `Delete a file of ${what}, or a folder with all in it`,
      query: filePathQuerySchema,
      headers: { 'If-Match': conditions['If-Match'] },
      answers: answer('It is gone.', names.deleted),
      errors: { ...changing, ...readOnly },
    },
    {
      method: 'post',
      path: `${prefix}/move`,
      id: `moveFileOf${of}`,
      tag,
      summary: `Move a file or folder of ${what} to where there is nothing`,
      query: fileMoveQuerySchema,
      headers: { 'If-Match': conditions['If-Match'] },
      answers: answer('It is there.', names.moved),
      errors: { ...changing, ...readOnly },
    },
  ];
}
