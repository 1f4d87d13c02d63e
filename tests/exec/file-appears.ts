import { access } from 'node:fs/promises';

/** Waits for a file, as long as the test's own time limit. */
export async function fileAppears(path: string): Promise<void> {
  for (;;) {
    const there = await access(path).then(
      () => true,
      () => false,
    );
    if (there) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
