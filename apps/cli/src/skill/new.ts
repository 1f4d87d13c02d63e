import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { longestSkillId, skillIdPattern } from '@secbox/skill-manifest';
import type { Call, Command } from '../command.js';
import { CommandFailure, exitCodes, UsageError } from '../exit-codes.js';
import { oneLine, type Terminal } from '../terminal.js';
import { folderOption, skillsFolder } from './skill-folders.js';
import { languages, skillTemplate, type Language, type NewSkill } from './template.js';

export const skillNew: Command = {
  name: 'skill new',
  words: '[<id>]',
  summary: 'Make a skill from a template that works',
  details: `An id is lower-case words with dots between them, such as text.count; the folder gets the same
name. On a terminal, what is not given is asked for.`,
  options: {
    name: { type: 'string', value: 'TEXT', help: 'a title for people' },
    description: { type: 'string', value: 'TEXT', help: 'what it does: agents choose by this' },
    language: { type: 'string', value: languages.join('|'), help: 'what its program is written in (python)' },
    ...folderOption,
  },
  run: async (call, surroundings) => {
    const { terminal, cwd } = surroundings;
    if (call.words.length > 1) throw new UsageError('One skill at a time.');
    const skills = skillsFolder(call, surroundings);
    const skill = await describe(call, terminal);
    const folder = join(skills, skill.id);
    if (existsSync(folder)) throw new CommandFailure(`${folder} is there already.`);
    await writeWhole(folder, skillTemplate(skill));
    const shown = relative(cwd, folder);
    terminal.result(shown.startsWith('..') ? folder : shown);
    const dir = call.text('dir') === undefined ? '' : ` --dir ${call.text('dir') ?? ''}`;
    terminal.note(
      [
        '',
        'Change what it takes and gives in manifest.json, and what it does in its program. Then:',
        `  npx secbox skill lint ${skill.id}${dir}`,
        `  npx secbox skill run ${skill.id} --input 'text=one two'    (with npm start running)`,
      ].join('\n'),
    );
    return exitCodes.good;
  },
};

async function describe(call: Call, terminal: Terminal): Promise<NewSkill> {
  const id = call.words[0] ?? (await answer(terminal, 'Id, such as text.count: ', undefined));
  if (!new RegExp(skillIdPattern).test(id) || id.length > longestSkillId) {
    throw new UsageError(
      `${JSON.stringify(id)} is no id: lower-case words and digits with dots between them, at most ${longestSkillId} characters, such as text.count.`,
    );
  }
  const asks = call.words[0] === undefined;
  const optional = (name: string, question: string, fallback: string) =>
    call.text(name) ?? (asks ? answer(terminal, `${question} [${fallback}]: `, fallback) : fallback);
  const title = id.replaceAll('.', ' ').replace(/^./, (letter) => letter.toUpperCase());
  const name = await optional('name', 'Name', title);
  const description = await optional(
    'description',
    'What does it do?',
    'Counts the words and lines of a text.',
  );
  const language = await optional('language', `Language (${languages.join(', ')})`, 'python');
  return { id, name: oneLine(name), description: oneLine(description), language: languageOf(language) };
}

async function answer(terminal: Terminal, question: string, fallback: string | undefined): Promise<string> {
  if (!terminal.asks) throw new UsageError('Say the id of the skill, such as "secbox skill new text.count".');
  return (await terminal.ask(question)) || (fallback ?? '');
}

function languageOf(written: string): Language {
  const language = languages.find((each) => each === written);
  if (language) return language;
  throw new UsageError(
    `There is no template in ${JSON.stringify(written)}; there are ${languages.join(' and ')}.`,
  );
}

/** A server that watches the folder sees all of it or nothing. */
async function writeWhole(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  const draft = join(dirname(folder), `.new-${process.pid}`);
  try {
    for (const [path, text] of files) {
      await mkdir(dirname(join(draft, path)), { recursive: true });
      await writeFile(join(draft, path), text);
    }
    await rename(draft, folder);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
