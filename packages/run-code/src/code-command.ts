import type { ArgvCommand, CodeLanguage, ExecCommand, ExecRecord } from '@secbox/contracts';

type Command = ExecCommand | ArgvCommand;

/** What runs code of a language: as whoever submits an exec would write it, where there is a kind for it. */
export function commandOf(language: CodeLanguage, code: string): Command {
  switch (language) {
    case 'python':
      return { kind: 'python', command: 'python', args: ['-c', code] };
    case 'bash':
      return { kind: 'shell', command: 'bash', args: ['-lc', code] };
    case 'javascript':
      return { kind: 'argv', command: 'node', args: ['-e', code] };
  }
}

const languages: Readonly<Record<string, CodeLanguage>> = {
  python: 'python',
  bash: 'bash',
  node: 'javascript',
};

/** The code that an exec is a run of; undefined when it is none. */
export function codeOf({
  cmd,
  args,
  skill_id,
}: Pick<ExecRecord, 'cmd' | 'args' | 'skill_id'>):
  { readonly language: CodeLanguage; readonly code: string } | undefined {
  const language = Object.hasOwn(languages, cmd) ? languages[cmd] : undefined;
  const [option, code] = args;
  if (language === undefined || code === undefined || args.length !== 2 || skill_id !== null)
    return undefined;
  return option === commandOf(language, '').args[0] ? { language, code } : undefined;
}
