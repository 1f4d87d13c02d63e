import { SecboxError } from '@secbox/contracts';
import { keyCommand } from './key-command.js';

try {
  await keyCommand(process.argv.slice(2), {
    result: (line) => void process.stdout.write(`${line}\n`),
    note: (line) => void process.stderr.write(`${line}\n`),
  });
} catch (error) {
  const told = error instanceof SecboxError ? error.message : error instanceof Error ? error.stack : error;
  process.stderr.write(`secbox: ${String(told)}\n`);
  process.exitCode = 1;
}
