/** How many a page of a list has at most. */
export const pageLimit = { type: 'integer', minimum: 1, maximum: 1000, default: 50 } as const;

/** Where the page before ended, in the words of the server. */
export const pageCursor = { type: 'string', minLength: 1, maxLength: 512 } as const;

/** Where to go on: a number that the page before told. */
export const plainCursor = { type: 'string', pattern: '^\\d{1,16}$' } as const;
