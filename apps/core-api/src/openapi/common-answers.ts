/** What lists answer. */
export const onePage = (schema: string) => ({ 200: { description: 'One page.', schema } }) as const;

/** What every call that asks the database may answer. */
export const unavailable = { 503: 'The database does not answer.' } as const;

/** What a file is sent with. */
export const download = (types: readonly string[]) =>
  ({
    200: { description: 'The bytes, to be saved.', types },
    206: { description: 'The range of them that was asked for.', types },
    304: { description: 'The client has them already.', nothing: true },
  }) as const;

export const rangeHeaders = {
  Range: { description: 'One range of bytes.' },
  'If-Range': { description: 'The ETag that the range is of.' },
  'If-None-Match': { description: 'The ETag of what the client has.' },
} as const;
