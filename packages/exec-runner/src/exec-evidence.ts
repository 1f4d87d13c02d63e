import type { ArtifactKind, ArtifactRecord, InputRecord } from '@secbox/contracts';
import type { Collection, VisibleInput } from '@secbox/workspace';
import type { OutputSummary } from './output-file.js';

const nothingKnown = { size: null, sha256: null, media_type: null, dropped: null } as const;

/** The files that an exec could see; what else an operator may have put there is in meta.json. */
export function inputsOf(visible: readonly VisibleInput[]): InputRecord[] {
  return visible.flatMap((input): InputRecord[] => {
    if ('kind' in input) return [];
    const { path } = input;
    return ['secret' in input ? { path, secret: true } : { path, size: input.size, sha256: input.sha256 }];
  });
}

/** What is visible now, and what was before and is not there any more, in the order of the bytes of their paths. */
export function withGone(now: VisibleInput[], before: readonly VisibleInput[]): VisibleInput[] {
  const key = ({ path, path_base64: raw }: VisibleInput) => raw ?? path;
  const there = new Set(now.map(key));
  const gone = before.filter((input) => !there.has(key(input)));
  return gone.length === 0 ? now : [...now, ...gone].sort((a, b) => bytesOf(a).compare(bytesOf(b)));
}

function bytesOf({ path, path_base64: raw }: VisibleInput): Buffer {
  return raw === undefined ? Buffer.from(path) : Buffer.from(raw, 'base64');
}

/** What an exec left behind as the audit lists it: its output first, then as manifest.json has it. */
export function artifactsOf(
  output: Readonly<Record<'stdout' | 'stderr', OutputSummary>>,
  { files, others, dropped }: Collection,
): ArtifactRecord[] {
  return [
    outputRecord('stdout', output.stdout),
    outputRecord('stderr', output.stderr),
    ...files.map((file) => ({ ...nothingKnown, ...file, kind: 'file' as const })),
    ...others.map((entry) => ({ ...nothingKnown, ...entry })),
    ...dropped.map(({ reason, ...entry }) => ({
      ...nothingKnown,
      ...entry,
      kind: reason === 'too_deep' ? ('folder' as const) : ('file' as const),
      dropped: reason,
    })),
  ];
}

function outputRecord(kind: ArtifactKind & ('stdout' | 'stderr'), output: OutputSummary): ArtifactRecord {
  const { size, sha256 } = output;
  return { ...nothingKnown, path: `${kind}.txt`, kind, size, sha256, media_type: 'text/plain' };
}
