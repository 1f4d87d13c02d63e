/** The user that every sandboxed program runs as, and that owns what it may write. */
export const sandboxOwner = { uid: 1000, gid: 1000 } as const;
