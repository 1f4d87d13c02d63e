/** All items of a list that comes in pages. */
export async function* allOf<Page extends { readonly next_cursor: string | null }, Item>(
  read: (cursor: string | undefined) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): AsyncGenerator<Item> {
  for (let cursor: string | undefined; ;) {
    const page = await read(cursor);
    yield* itemsOf(page);
    if (page.next_cursor === null) return;
    cursor = page.next_cursor;
  }
}
