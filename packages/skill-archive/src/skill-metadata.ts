import { parseDocument } from 'yaml';

/** What a list of skills shows of one. */
export interface SkillMetadata {
  readonly name: string;
  readonly description: string;
}

/** Where they are looked for in the root of a skill, in this order. */
export const metadataFiles = ['SKILL.md', 'skill.md', 'README.md'] as const;
export const noDescription = 'No description available.';
/** As much of a file as is looked at. */
export const metadataBytes = 64 * 1024;

const longestFrontMatter = 16 * 1024;
const longestLine = 1_000;
const longestName = 200;
const longestDescription = 2_000;

/** From the beginnings of those files that are there, by their names. */
export function metadataOf(files: ReadonlyMap<string, string>, folderName: string): SkillMetadata {
  const texts = metadataFiles.flatMap((name) => files.get(name) ?? []);
  const front = metadataFiles
    .filter((name) => name !== 'README.md')
    .map((name) => frontMatterOf(files.get(name) ?? ''))
    .find((found) => found !== undefined);
  const heading = texts.map((text) => headingOf(text)).find((found) => found !== undefined);
  return {
    name: shortened(front?.name ?? heading ?? folderName, longestName),
    description: shortened(front?.description ?? noDescription, longestDescription),
  };
}

interface FrontMatter {
  readonly name: string | undefined;
  readonly description: string | undefined;
}

/** Undefined when there is none, or none that can be read: a skill is not lost for a slip in its first lines. */
function frontMatterOf(text: string): FrontMatter | undefined {
  const match = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/.exec(
    text.slice(0, longestFrontMatter),
  );
  if (match?.[1] === undefined) return undefined;
  try {
    const document = parseDocument(match[1], { schema: 'core', stringKeys: true, logLevel: 'silent' });
    if (document.errors.length > 0) return undefined;
    const values: unknown = document.toJS({ maxAliasCount: 0 });
    if (typeof values !== 'object' || values === null) return undefined;
    return { name: textOf(values, 'name'), description: textOf(values, 'description') };
  } catch {
    return undefined;
  }
}

function textOf(values: object, key: string): string | undefined {
  const value: unknown = Object.hasOwn(values, key) ? (values as Record<string, unknown>)[key] : undefined;
  const text = typeof value === 'string' || typeof value === 'number' ? oneLine(String(value)) : '';
  return text === '' ? undefined : text;
}

/** The first `# heading`, past front matter and outside fenced code. */
function headingOf(text: string): string | undefined {
  const body = text
    .replace(/^\uFEFF?---[ \t]*\r?\n[\s\S]*?\r?\n---[ \t]*(?:\r?\n|$)/, '')
    .replace(/^\uFEFF/, '');
  let fenced = false;
  for (const line of body.split(/\r?\n/)) {
    if (/^ {0,3}(?:```|~~~)/.test(line)) fenced = !fenced;
    const isHeading = !fenced && /^ {0,3}#[ \t]/.test(line);
    const found = isHeading ? oneLine(withoutClosing(line.slice(0, longestLine).trim())) : '';
    if (found !== '') return found;
  }
  return undefined;
}

/** `# Title ##` is `Title`. */
function withoutClosing(heading: string): string {
  const words = heading.slice(1).trim().split(/[ \t]/);
  if (words.length > 1 && /^#+$/.test(words.at(-1) ?? '')) words.pop();
  return words.join(' ');
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
}

function shortened(text: string, most: number): string {
  const characters = Array.from(text);
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : text;
}
