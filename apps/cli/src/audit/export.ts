import { resolve } from 'node:path';
import { exportFormats } from '@secbox/contracts';
import type { Command } from '../command.js';
import { exitCodes, UsageError } from '../exit-codes.js';
import { saveFile } from '../follow.js';
import { serverOf, serverOptions } from '../server.js';
import { sizeText } from '../terminal.js';
import { filterOf, filterOptions } from './filters.js';

export const auditExport: Command = {
  name: 'audit export',
  words: '',
  summary: 'Export what ran, as JSON lines or CSV; takes a key with the role auditor',
  options: {
    format: { type: 'string', value: exportFormats.join('|'), help: 'in which form (jsonl)' },
    out: { type: 'string', value: 'FILE', help: 'where to write it (stdout)' },
    ...filterOptions,
    ...serverOptions,
  },
  run: async (call, surroundings) => {
    const { terminal, stopped: signal, cwd } = surroundings;
    if (call.words.length > 0)
      throw new UsageError(`"audit export" takes options only, not ${call.words.join(' ')}.`);
    const written = call.text('format') ?? 'jsonl';
    const format = exportFormats.find((each) => each === written);
    if (!format)
      throw new UsageError(`--format takes ${exportFormats.join(' or ')}, not ${JSON.stringify(written)}.`);
    const filter = filterOf(call);
    const exported = await serverOf(call, surroundings).audit.export({ ...filter, format }, { signal });
    const target = call.text('out');
    if (target === undefined) {
      await terminal.pour(exported.body);
      return exitCodes.good;
    }
    const bytes = await saveFile(exported, resolve(cwd, target), (so) =>
      terminal.progress(`${sizeText(so)} so far`),
    );
    terminal.note(`${target}: ${sizeText(bytes)}`);
    return exitCodes.good;
  },
};
