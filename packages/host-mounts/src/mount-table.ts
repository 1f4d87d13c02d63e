import { readFile } from 'node:fs/promises';

/** Mount points below a folder, and on it where that is asked for, as this process sees them, deepest first. */
export async function mountPointsBelow(
  folder: string,
  { itself = false }: { readonly itself?: boolean } = {},
): Promise<string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  return mountPointsOf(table)
    .filter((point) => point.startsWith(`${folder}/`) || (itself && point === folder))
    .sort((a, b) => b.length - a.length);
}

export function mountPointsOf(table: string): string[] {
  return table
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => unescape(line.split(' ')[4] ?? ''));
}

/** The kernel writes spaces, tabs, newlines and backslashes of a path as octal numbers, byte by byte. */
function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
