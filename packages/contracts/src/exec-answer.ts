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
  readonly artifacts: readonly ArtifactSummary[];
}

export interface ArtifactSummary {
  readonly path: string;
  readonly path_base64?: string;
  readonly size: number;
  readonly sha256: string;
  readonly media_type: string;
}

/** How much of each stream an answer carries. */
export const answeredOutputBytes = 65_536;
