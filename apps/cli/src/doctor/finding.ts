/** What was looked at, how it is, and what to do about it. */
export interface Finding {
  readonly about: string;
  readonly state: 'good' | 'warning' | 'bad';
  readonly text: string;
  readonly advice?: string;
}

export const good = (about: string, text: string): Finding => ({ about, state: 'good', text });

export const warning = (about: string, text: string, advice: string): Finding => ({
  about,
  state: 'warning',
  text,
  advice,
});

export const bad = (about: string, text: string, advice: string): Finding => ({
  about,
  state: 'bad',
  text,
  advice,
});

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
