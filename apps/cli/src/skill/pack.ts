import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ManifestChecker } from '@secbox/skill-manifest';
import yazl from 'yazl';
import type { Command } from '../command.js';
import { CommandFailure, exitCodes, UsageError } from '../exit-codes.js';
import { sizeText } from '../terminal.js';
import { checkSkill } from './check-skill.js';
import { folderOption, placeOf, skillsFolder } from './skill-folders.js';
import { numbered } from './lint.js';

/** The same files give the same bytes. */
const noTime = new Date(Date.UTC(1980, 0, 1));

export const skillPack: Command = {
  name: 'skill pack',
  words: '<id or folder>',
  summary: 'Put a skill into a ZIP, to be unpacked into another folder of skills',
  details: 'Only of a skill without problems. The same skill gives the same file, to the byte.',
  options: {
    out: { type: 'string', value: 'FILE', help: 'where to write it (<id>.zip)' },
    ...folderOption,
  },
  run: async (call, surroundings) => {
    const { terminal, cwd } = surroundings;
    const [word] = call.words;
    if (word === undefined || call.words.length > 1) throw new UsageError('Name one skill to pack.');
    const place = placeOf(word, skillsFolder(call, surroundings), cwd);
    const { id, files, digest, problems } = checkSkill(place, new ManifestChecker());
    if (problems.length > 0) {
      throw new CommandFailure(
        `${id} has ${numbered(problems.length, 'problem')}; "secbox skill lint ${word}" tells them.`,
      );
    }
    const zip = new yazl.ZipFile();
    for (const { path, executable, content } of files) {
      const mode = executable ? 0o100755 : 0o100644;
      zip.addBuffer(content, `${id}/${path}`, { mtime: noTime, mode, forceDosTimestamp: true });
    }
    zip.end();
    const target = resolve(cwd, call.text('out') ?? `${id}.zip`);
    const draft = `${target}.part`;
    try {
      const output = createWriteStream(draft);
      await pipeline(zip.outputStream, output);
      await rename(draft, target);
      terminal.result(target);
      terminal.note(`${numbered(files.length, 'file')}, ${sizeText(output.bytesWritten)}, digest ${digest}`);
    } finally {
      await rm(draft, { force: true });
    }
    return exitCodes.good;
  },
};
