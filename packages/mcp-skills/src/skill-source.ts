import type {
  ExecStatus,
  InvocationAnswer,
  InvocationRequest,
  RunCodeAnswer,
  SkillAnswer,
} from '@secbox/contracts';

/** Something that happened to an invocation. */
export type InvocationEvent =
  | { readonly type: 'state'; readonly status: ExecStatus }
  | { readonly type: 'stdout' | 'stderr'; readonly data: Uint8Array };

export interface ReadArtifact {
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Where skills come from and run, for one caller. Failures have `kind`, `code` and `message`, as the API's have. */
export interface SkillSource {
  /** Those that can be invoked, in the order of their ids. */
  list(): Promise<readonly SkillAnswer[]>;
  find(skillId: string): Promise<SkillAnswer>;
  /** Hands an invocation over; settles when it is recorded. */
  submit(skillId: string, request: InvocationRequest): Promise<{ readonly exec_id: string }>;
  /** State and output from the beginning, until the end or until whoever follows has left. */
  follow(execId: string, leaving: AbortSignal): AsyncIterable<InvocationEvent>;
  answer(skillId: string, execId: string): Promise<InvocationAnswer>;
  /** Hands code over, as whoever called sent it; settles when it is recorded. */
  submitCode(request: unknown): Promise<{ readonly exec_id: string }>;
  codeAnswer(execId: string): Promise<RunCodeAnswer>;
  cancel(execId: string): Promise<unknown>;
  /** Throws `file_too_large` when it has more bytes than these. */
  readArtifact(execId: string, encodedPath: string, mostBytes: number): Promise<ReadArtifact>;
  /** Told when a skill has come, gone or changed. Gives what ends that. */
  onChange(listener: () => void): () => void;
}
