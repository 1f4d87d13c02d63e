import { join, relative } from 'node:path';
import { ManifestChecker, type SkillProblem } from '@secbox/skill-manifest';
import type { Command } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { oneLine, type Terminal } from '../terminal.js';
import { checkSkill } from './check-skill.js';
import { folderOption, placeOf, placesIn, skillsFolder } from './skill-folders.js';

export const skillLint: Command = {
  name: 'skill lint',
  words: '[<id or folder>…]',
  summary: 'Check skills: everything that is wrong, with its place',
  details: `Without words, all of the folder of skills. Checks the manifest, the folder, the limits, and
whether the examples in tests/cases.json fit what the manifest says. Needs no server.
Exit code 1 when there is a problem.`,
  options: {
    ...folderOption,
    json: { type: 'boolean', help: 'tell it as JSON' },
  },
  run: (call, surroundings) => {
    const { terminal, cwd } = surroundings;
    const folder = skillsFolder(call, surroundings);
    const places =
      call.words.length === 0 ? placesIn(folder) : call.words.map((word) => placeOf(word, folder, cwd));
    const checker = new ManifestChecker();
    const skills = places.map((place, index) => {
      terminal.progress(`${index + 1} of ${places.length}: ${place.id}`);
      const { id, digest, problems } = checkSkill(place, checker);
      return { id, folder: join(place.skills, id), valid: problems.length === 0, digest, problems };
    });
    const count = skills.reduce((sum, { problems }) => sum + problems.length, 0);
    if (call.flag('json')) terminal.result(JSON.stringify({ problems: count, skills }, null, 2));
    else {
      for (const { folder: own, problems } of skills) {
        for (const problem of problems)
          terminal.result(problemText(problem, relative(cwd, own) || '.', terminal));
      }
      const summary = `${numbered(skills.length, 'skill')}, ${numbered(count, 'problem')}`;
      terminal.note(terminal.noted(count === 0 ? 'green' : 'red', summary));
    }
    return Promise.resolve(count === 0 ? exitCodes.good : exitCodes.failed);
  },
};

/** `file:line:column`, as editors and CI systems find it. */
function problemText(problem: SkillProblem, folder: string, terminal: Terminal): string {
  const { file, line, column, pointer, message, found, expected, suggestion } = problem;
  const place = [file === '' ? folder : join(folder, file), ...(line === null ? [] : [line, column])].join(
    ':',
  );
  const hints = [
    ...(found === undefined ? [] : [`found ${found}`]),
    ...(expected === undefined ? [] : [`expected ${expected}`]),
    ...(suggestion === undefined ? [] : [`did you mean ${suggestion}?`]),
  ];
  // Nothing that a manifest says is obeyed by a terminal.
  const first = `${terminal.styled('bold', oneLine(place))}: ${oneLine([pointer, message].join(' '))}`;
  return [first, ...hints.map((hint) => `    ${terminal.styled('dim', oneLine(hint))}`)].join('\n');
}

export function numbered(count: number, what: string): string {
  return oneLine(`${count} ${what}${count === 1 ? '' : 's'}`);
}
