import { Readable } from 'node:stream';
import type { AuditLog } from '@secbox/audit';
import { containerPaths } from '@secbox/container-engine';
import { SecboxError, parseExecId, type ExecScope, type TenantId } from '@secbox/contracts';
import type { Intake } from '@secbox/exec-runner';
import type { FileInput, FoundFile } from '@secbox/skill-manifest';
import { parseRelativePath, sha256Of, type InputFile } from '@secbox/workspace';

export interface Bringing {
  /** Whose execs' files may be brought. */
  readonly scope: ExecScope<TenantId>;
  readonly audit: Pick<AuditLog, 'openArtifact'>;
  readonly intake: Intake;
}

interface Brought {
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

/**
 * Brings the files of an invocation to where its program will see them, and puts their paths in their places in
 * the inputs. Gives those that are held here; the others are with the intake.
 */
export async function bringFiles(found: readonly FoundFile[], bringing: Bringing): Promise<InputFile[]> {
  const held: InputFile[] = [];
  for (const [index, each] of found.entries()) {
    const { pointer, file } = each;
    const folder = `${bringing.intake.execId}/files/${index}`;
    const name = file.name ?? ('path' in file ? (file.path.split('/').at(-1) ?? '') : `file-${index}`);
    const path = `${folder}/${name}`;
    const relative = parseRelativePath(path, `/inputs${pointer}/name`);
    let brought: Brought;
    if ('exec_id' in file) {
      brought = { name, ...(await bringArtifact(file, path, pointer, bringing)) };
    } else {
      const content = contentOf(file, pointer);
      brought = { name, size: content.length, sha256: sha256Of(content) };
      held.push({ path: relative, size: brought.size, sha256: brought.sha256, secret: false, content });
    }
    each.replace({ path: `${containerPaths.inputs}/${path}`, ...brought });
  }
  return held;
}

type InlineFile = Exclude<FileInput, { exec_id: string }>;
type ArtifactFile = Extract<FileInput, { exec_id: string }>;

function contentOf(file: InlineFile, pointer: string): Buffer {
  if ('content' in file) {
    if (/\p{Surrogate}/u.test(file.content))
      throw invalidFile(`${pointer}/content`, 'holds half a Unicode character');
    return Buffer.from(file.content, 'utf8');
  }
  const content = Buffer.from(file.content_base64, 'base64');
  // The decoder skips what it does not know; what it gives back unchanged was base64.
  if (content.toString('base64') !== file.content_base64) {
    throw invalidFile(`${pointer}/content_base64`, 'is not base64');
  }
  return content;
}

/** Streams it, and believes neither the disk nor the row, but that both agree. */
async function bringArtifact(
  file: ArtifactFile,
  path: string,
  pointer: string,
  { scope, audit, intake }: Bringing,
): Promise<Omit<Brought, 'name'>> {
  const encoded = file.path.split('/').map(encodeURIComponent).join('/');
  const opened = await audit
    .openArtifact(scope, parseExecId(file.exec_id), encoded)
    .catch((error: unknown) => {
      const isMissing =
        error instanceof SecboxError && (error.kind === 'not_found' || error.kind === 'invalid');
      throw isMissing && error.code !== 'artifact_gone' ? invalidFile(pointer, error.message) : error;
    });
  try {
    const content = Readable.from(opened.file.chunks(), { objectMode: false });
    await intake.receive({ path, secret: false, field: `/inputs${pointer}` }, content);
  } finally {
    opened.file.close();
  }
  const { size = 0, sha256 = '' } = intake.received.at(-1) ?? {};
  if (sha256 !== opened.sha256) {
    throw new SecboxError('artifact_changed', 'What is in this place is not the file that was recorded.', {
      details: { pointer: `/inputs${pointer}` },
    });
  }
  if (file.sha256 !== undefined && file.sha256 !== sha256) {
    throw invalidFile(`${pointer}/sha256`, `is not the hash of that artifact, which is ${sha256}`);
  }
  return { size, sha256 };
}

function invalidFile(pointer: string, message: string): SecboxError {
  return new SecboxError('invalid_input', `The inputs are not valid: /inputs${pointer} ${message}.`, {
    details: { problems: [{ pointer: `/inputs${pointer}`, message }] },
  });
}
