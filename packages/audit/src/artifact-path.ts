import { SecboxError, type ArtifactRecord, type ExecId } from '@secbox/contracts';

/** The raw names of an artifact's folders and of itself: a program may use any byte but a slash and NUL. */
export type ArtifactPath = readonly Buffer[];

/** No exec leaves deeper or longer paths. */
const maxPathBytes = 16_384;
const maxComponentBytes = 255;

/** Of an artifact in the list of its exec. */
export function pathOf({
  path,
  path_base64: raw,
}: Pick<ArtifactRecord, 'path' | 'path_base64'>): ArtifactPath {
  return split(raw === undefined ? Buffer.from(path) : Buffer.from(raw, 'base64'));
}

/** As it is in a URL: any byte that is not plain is percent-encoded, so that every name can be told. */
export function artifactUrl(execId: ExecId, artifact: Pick<ArtifactRecord, 'path' | 'path_base64'>): string {
  const encoded = pathOf(artifact).map((name) => [...name].map(encodeByte).join(''));
  return `/sandbox/execs/${execId}/artifacts/${encoded.join('/')}`;
}

/** The names of a percent-encoded path; refuses what could not be the path of an artifact. */
export function parseArtifactPath(encoded: string): ArtifactPath {
  const path = encoded.split('/').map(decode);
  const bytes = path.reduce((sum, name) => sum + name.length + 1, -1);
  if (bytes > maxPathBytes || !path.every(isName)) {
    throw new SecboxError('invalid_path', 'This is not the path of an artifact.', {
      details: { field: 'path' },
    });
  }
  return path;
}

/** How the store knows it: by text where it is text, else by its bytes. */
export function nameOf(path: ArtifactPath): { readonly path: string } | { readonly base64: string } {
  const bytes = Buffer.concat(path.flatMap((name, at) => (at === 0 ? [name] : [slash, name])));
  try {
    return { path: utf8.decode(bytes) };
  } catch {
    return { base64: bytes.toString('base64') };
  }
}

/** What a browser should call the file; not UTF-8 is shown as such. */
export function fileNameOf(path: ArtifactPath): string {
  return path.at(-1)?.toString('utf8') ?? '';
}

const slash = Buffer.from('/');
/** `ignoreBOM` keeps a leading U+FEFF, as the list does. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function split(bytes: Buffer): Buffer[] {
  const names: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(slash); end >= 0; end = bytes.indexOf(slash, start)) {
    names.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return [...names, bytes.subarray(start)];
}

function encodeByte(byte: number): string {
  const character = String.fromCharCode(byte);
  if (/[A-Za-z0-9._~-]/.test(character)) return character;
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}

function decode(component: string): Buffer {
  const parts = component.split(/(%[0-9A-Fa-f]{2})/);
  return Buffer.concat(
    parts.map((part, at) => (at % 2 === 1 ? Buffer.from(part.slice(1), 'hex') : Buffer.from(part))),
  );
}

function isName(name: Buffer): boolean {
  const special = ['', '.', '..'].includes(name.toString('latin1'));
  return !special && name.length <= maxComponentBytes && !name.includes(0) && !name.includes(slash);
}
