import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { compileService } from './compile.mjs';
import { runCommand } from './failure.mjs';
import { checkNode, preparePackages } from './prepare.mjs';
import { createProgress } from './progress.mjs';
import { dataFolder, repositoryRoot } from './settings.mjs';

const HELP = `Usage: npm run key -- --role <role> [--role <role>…] [--tenant <tenant>]
       npm run key -- --list [--tenant <tenant>]
       npm run key -- --revoke <key_id>

Makes an API key, prints it once on stdout (everything else goes to stderr), and
keeps only a digest of it. Lists and revokes keys. Works on the data folder
whether a server has it open or not; a running server knows at once.

  --role R            worker, author, auditor, approver or admin; may be repeated
  --tenant T          whose key it is (default: default)
  --label TEXT        what it is for
  --days N            how long it holds (default: until it is revoked)
  --user-pattern P    whom it may act for; * stands for any text; may be repeated
  --agent-pattern P   the same for agents

SECBOX_DATA_DIR  the data folder (default: data)
`;

await runCommand(async (signal) => {
  const words = process.argv.slice(2);
  if (words.length === 0 || words.includes('--help') || words.includes('-h')) {
    process.stdout.write(HELP);
    return 0;
  }
  checkNode(process.version);
  const { env } = process;
  const progress = createProgress({ stream: process.stderr, env });
  try {
    await preparePackages({ env, signal, progress });
    await compileService({ root: repositoryRoot, env, signal, say: () => undefined });
  } finally {
    progress.close();
  }
  const main = path.join(repositoryRoot, 'apps', 'core-api', 'dist', 'key-main.js');
  const child = spawn(process.execPath, [main, '--data-dir', dataFolder(env), ...words], {
    stdio: 'inherit',
  });
  const ended = /** @type {[number | null]} */ (await once(child, 'exit'));
  return ended[0] ?? 1;
});
