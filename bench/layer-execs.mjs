import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { alternate } from './alternate.mjs';
import { makeZip } from './layer-files.mjs';
import { startService } from './service.mjs';
import { summarize } from './summary.mjs';

const POOL = 2;
const PROGRAM = 'print("sunny")\n';
const CHANGING = 'import time\nopen("last.txt", "w").write(str(time.time()))\nprint("sunny")\n';

/** @typedef {{ exec_id: string, exit_code: number, stdout: string, start_mode?: string }} Answer */

/**
 * A warm `python3 main.py` in a layered skill, against the same warm exec in a project, alternating; and one that changes
 * a file of the skill, which is kept.
 *
 * @param {{ env: NodeJS.ProcessEnv, runs: number }} options
 */
export async function benchLayerExecs({ env, runs }) {
  const dataDir = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'secbox-bench-')));
  try {
    await seed(dataDir);
    const { client, stop } = await startService({
      ...env,
      SECBOX_DATA_DIR: dataDir,
      SECBOX_POOL_SIZE: String(POOL),
      SECBOX_LOG_LEVEL: 'error',
    });
    try {
      /** @type {(where: string, body: unknown) => Promise<Answer>} */
      const post = async (where, body) => {
        const response = await client.call(where, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        const answer = /** @type {Answer & { data: Answer }} */ (await response.json());
        const told = where.startsWith('/v1/') ? answer.data : answer;
        if (told.exit_code !== 0) throw new Error(`It did not succeed: ${JSON.stringify(answer)}`);
        return told;
      };
      const inProject = (/** @type {object} */ exec) => post('/sandbox/execs', { project_id: 'bench', exec });
      const skill = '/v1/skills/bench/agent/weather/execute?command=python3';
      await inProject({
        kind: 'python',
        command: 'python',
        args: ['-c', `open("main.py", "w").write(${JSON.stringify(PROGRAM)})`],
      });
      const measured =
        (/** @type {() => Promise<{ exec_id: string, stdout: string }>} */ call) => async () => {
          await poolIsFull(client);
          const start = performance.now();
          const { exec_id: execId, stdout } = await call();
          const took = performance.now() - start;
          if (stdout !== 'sunny\n') throw new Error(`It printed ${stdout}`);
          const row = /** @type {Answer} */ (await (await client.call(`/sandbox/execs/${execId}`)).json());
          if (row.start_mode !== 'warm') throw new Error(`It started ${row.start_mode}.`);
          return took;
        };
      const times = await alternate(
        {
          project: measured(() =>
            inProject({ kind: 'python', command: 'python', args: ['/workspace/work/main.py'] }),
          ),
          'layered skill': measured(() => post(skill, ['main.py'])),
          'layered skill, changed': measured(() => post(skill, ['changing.py'])),
        },
        runs,
      );
      return Object.entries(times).map(([name, list]) => summarize(name, list));
    } finally {
      await stop();
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** @param {string} dataDir */
async function seed(dataDir) {
  const { SkillLayers } = await import('../packages/skill-layers/dist/index.js');
  const contracts = await import('../packages/contracts/dist/index.js');
  const product = path.join(dataDir, 'workspace', 'product');
  mkdirSync(product, { recursive: true });
  const files = path.join(dataDir, 'seed', 'weather');
  mkdirSync(files, { recursive: true });
  writeFileSync(path.join(files, 'SKILL.md'), '# Weather\n');
  writeFileSync(path.join(files, 'main.py'), PROGRAM);
  writeFileSync(path.join(files, 'changing.py'), CHANGING);
  for (let n = 0; n < 50; n += 1) writeFileSync(path.join(files, `module-${n}.py`), `value = ${n}\n`);
  const archive = path.join(dataDir, 'seed.zip');
  makeZip(path.join(dataDir, 'seed'), archive);
  const owner = process.getuid?.() === 0 ? { owner: { uid: 1000, gid: 1000 } } : {};
  const layers = await SkillLayers.open({ root: product, ...owner });
  const user = { userId: contracts.parseUserId('author'), agentId: contracts.parseAgentId('agent') };
  await layers.upload(user, archive, { archiveName: 'seed.zip', scope: 'baseline' });
  await layers.close();
}

/** @param {import('./service.mjs').Client} client */
async function poolIsFull(client) {
  for (;;) {
    const response = await client.call('/sandbox/health');
    const { pool } = /** @type {{ pool: { waiting?: number, starting?: number } }} */ (await response.json());
    if (pool.waiting === POOL && pool.starting === 0) return;
    await later(20);
  }
}
