import { ManifestChecker } from '@secbox/skill-manifest';
import type { Command } from '../command.js';
import { exitCodes, UsageError } from '../exit-codes.js';
import { dataFolder, serverOf, serverOptions, urlOf } from '../server.js';
import { checkSkill } from '../skill/check-skill.js';
import { numbered } from '../skill/lint.js';
import { folderOption, placesIn, skillsFolder } from '../skill/skill-folders.js';
import { oneLine, type Terminal } from '../terminal.js';
import { bad, good, reasonOf, type Finding } from './finding.js';
import { checkDataFolder, checkDisk, checkNode } from './host-checks.js';
import { checkServer } from './server-checks.js';

export const doctor: Command = {
  name: 'doctor',
  words: '',
  summary: 'Look whether everything is there that Secbox needs, and say what to do',
  details: `Node, the data folder, the disk, the engine, its images, the skills, and the server if one runs.
Changes nothing. Exit code 1 when something is missing.`,
  options: {
    json: { type: 'boolean', help: 'tell it as JSON' },
    ...folderOption,
    ...serverOptions,
  },
  run: async (call, surroundings) => {
    if (call.words.length > 0)
      throw new UsageError(`"doctor" takes options only, not ${call.words.join(' ')}.`);
    const { terminal, environment } = surroundings;
    const data = dataFolder(surroundings);
    const client = () => serverOf(call, surroundings);
    const url = urlOf({ url: call.text('url'), keyFile: undefined }, surroundings);
    const looks: (readonly [string, () => Finding | Finding[] | Promise<Finding | Finding[]>])[] = [
      ['Node', () => checkNode(process.version)],
      ['data folder', () => checkDataFolder(data)],
      ['disk', () => checkDisk(data)],
      [
        'engine',
        async () => {
          // What talks to engines takes long to load, and no other command needs it.
          const { checkEngine } = await import('./engine-checks.js');
          return checkEngine({ environment, dataFolder: data });
        },
      ],
      ['skills', () => checkSkills(skillsFolder(call, surroundings))],
      ['server', () => checkServer(client(), url)],
    ];
    const findings: Finding[] = [];
    for (const [about, look] of looks) {
      terminal.progress(`looking at ${about}`);
      const found = [await look()].flat();
      findings.push(...found);
      if (!call.flag('json')) for (const finding of found) terminal.result(textOf(finding, terminal));
    }
    const count = findings.filter(({ state }) => state === 'bad').length;
    if (call.flag('json')) terminal.result(JSON.stringify({ problems: count, findings }, null, 2));
    else terminal.note(terminal.noted(count === 0 ? 'green' : 'red', numbered(count, 'problem')));
    return count === 0 ? exitCodes.good : exitCodes.failed;
  },
};

function checkSkills(folder: string): Finding {
  try {
    const checker = new ManifestChecker();
    const skills = placesIn(folder).map((place) => checkSkill(place, checker));
    const wrong = skills.filter(({ problems }) => problems.length > 0).map(({ id }) => id);
    if (wrong.length === 0) return good('skills', `${numbered(skills.length, 'skill')} in ${folder}`);
    return bad(
      'skills',
      `not valid: ${wrong.join(', ')}`,
      '"secbox skill lint" says what is wrong with them.',
    );
  } catch (error) {
    return bad('skills', reasonOf(error), 'Name their folder with --dir.');
  }
}

const marks = { good: '✔', warning: '!', bad: '✘' } as const;
const styles = { good: 'green', warning: 'yellow', bad: 'red' } as const;

function textOf({ about, state, text, advice }: Finding, terminal: Terminal): string {
  const line = `${terminal.styled(styles[state], marks[state])} ${about.padEnd(13)} ${oneLine(text)}`;
  return advice === undefined
    ? line
    : `${line}\n  ${' '.repeat(13)} ${terminal.styled('dim', `→ ${advice}`)}`;
}
