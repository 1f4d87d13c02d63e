import { readdirSync, readFileSync } from 'node:fs';

/** A command of the documentation, and what it prints: JSON, or text. */
export interface ApiExample {
  readonly command: string;
  readonly answer: unknown;
}

export interface ApiSection {
  /** Of a call, as the table of access names it. */
  readonly title: string;
  readonly examples: readonly ApiExample[];
}

export interface ApiPage {
  readonly title: string;
  /** Below `docs/`. */
  readonly path: string;
  readonly sections: readonly ApiSection[];
}

export const docs = new URL('../../docs/', import.meta.url);

/** The pages about the API, in the order of the index, which is the last of them. */
export const apiPages: readonly ApiPage[] = [
  ...['execs', 'skills', 'layered-skills', 'sandboxes', 'projects', 'approvals'].map(
    (name) => `api/${name}.md`,
  ),
  'api.md',
].map(pageAt);

/** Every file there is, so that none is left out above. */
export const apiFiles = ['api.md', ...readdirSync(new URL('api/', docs)).map((name) => `api/${name}`)];

/** As GitHub makes it of a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

export const isCall = (title: string): boolean => /^[A-Z]+ \//.test(title);

function pageAt(path: string): ApiPage {
  const text = readFileSync(new URL(path, docs), 'utf8');
  const [head = '', ...parts] = text.split(/^## /m);
  const title = /^# (.*)$/m.exec(head)?.[1] ?? '';
  const sections = [head.replace(/^# /, ''), ...parts].map((part) => ({
    title: part.split('\n')[0] ?? '',
    examples: examplesIn(part),
  }));
  return { title, path, sections };
}

function examplesIn(text: string): ApiExample[] {
  return [...text.matchAll(/^```sh\n([^`]*)```\n\n```(json|text)\n(.*?)```/gms)].map(
    ([, command = '', kind, answer = '']) => ({
      command,
      answer: kind === 'json' ? (JSON.parse(answer) as unknown) : answer.trimEnd(),
    }),
  );
}
