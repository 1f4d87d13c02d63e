import type { ArtifactRecord, InputRecord } from './exec-evidence.js';
import type { ExecRecord } from './exec-record.js';

/** What `POST /sandbox/execs` and `GET /sandbox/execs/{exec_id}` answer: the row and what the exec left behind. */
export interface ExecAnswer extends ExecRecord {
  /** Folder and files on the server's host; the files are there once the exec is over. */
  readonly artifacts_dir: string;
  readonly stdout_path: string;
  readonly stderr_path: string;
  /** The first {@link answeredOutputBytes} as text; what is not UTF-8 is replaced. The files hold the exact bytes. */
  readonly stdout: string;
  readonly stderr: string;
  /** The first {@link answeredArtifacts} files; all of them, and what is no file, at `artifacts_url`. */
  readonly artifacts: readonly ArtifactSummary[];
  readonly artifacts_complete: boolean;
  readonly artifacts_url: string;
}

export interface ArtifactSummary {
  readonly path: string;
  readonly path_base64?: string;
  readonly size: number;
  readonly sha256: string;
  readonly media_type: string;
  /** Where it can be downloaded; null once it was removed. */
  readonly url: string | null;
}

/** How much of each stream an answer carries. */
export const answeredOutputBytes = 65_536;
/** How many files an answer lists. */
export const answeredArtifacts = 100;

/** What `GET /sandbox/execs/{exec_id}/artifacts` answers; only files that were kept have a URL. */
export interface ArtifactListing {
  readonly artifacts: readonly (ArtifactRecord & { readonly url: string | null })[];
  readonly next_cursor: string | null;
}

/** What `GET /sandbox/execs/{exec_id}/inputs` answers. */
export interface InputListing {
  readonly inputs: readonly InputRecord[];
  readonly next_cursor: string | null;
}
