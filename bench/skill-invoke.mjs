import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { repositoryRoot } from '../docker/setup/settings.mjs';
import { alternate } from './alternate.mjs';
import { startService } from './service.mjs';
import { summarize } from './summary.mjs';

const INPUTS = { document: { prices: [19, 23, 5] }, filter: '.prices | add', max_results: 1000 };
const POOL = 2;

/** @typedef {{ exec_id: string, exec_url?: string, status: string, start_mode?: string, duration_ms: number }} Answer */

/**
 * A warm invocation of json.query, against an exec of the same program with the same files and limits. The exec has bash
 * read the script itself, so that both start one bash.
 *
 * @param {{ env: NodeJS.ProcessEnv, runs: number }} options
 */
export async function benchInvoke({ env, runs }) {
  const dataDir = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'secbox-bench-')));
  const skill = path.join(repositoryRoot, 'skills', 'json.query');
  const parse = /** @type {(text: string) => { limits: object }} */ (JSON.parse);
  const { limits } = parse(readFileSync(path.join(skill, 'manifest.json'), 'utf8'));
  const script = readFileSync(path.join(skill, 'query.sh'), 'utf8');
  const { client, stop } = await startService({
    ...env,
    SECBOX_DATA_DIR: dataDir,
    SECBOX_POOL_SIZE: String(POOL),
    SECBOX_LOG_LEVEL: 'error',
  });
  /** @type {(where: string, body: object) => Promise<Answer>} */
  const post = async (where, body) => {
    const response = await client.call(where, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = /** @type {Answer} */ (await response.json());
    if (answer.status !== 'succeeded') throw new Error(`It did not succeed: ${JSON.stringify(answer)}`);
    return answer;
  };
  const exec = () =>
    post('/sandbox/execs', {
      project_id: 'bench-exec',
      inputs: [
        { path: 'bench/query.sh', content: script },
        { path: 'bench/input.json', content: JSON.stringify(INPUTS) },
      ],
      exec: {
        kind: 'shell',
        command: 'bash',
        args: ['-lc', '. /workspace/inputs/bench/query.sh'],
        env: {
          SECBOX_INPUT: '/workspace/inputs/bench/input.json',
          SECBOX_SKILL_DIR: '/workspace/inputs/bench',
        },
      },
      policy_overrides: limits,
    });
  const invoke = () => post('/skills/json.query/invoke', { project_id: 'bench-invoke', inputs: INPUTS });
  const invokeAlone = () => post('/skills/json.query/invoke', { inputs: INPUTS });
  /** Times the call alone: not the wait for a container before it, nor the look whether it was warm. */
  const measured =
    (/** @type {() => Promise<Answer>} */ call, /** @type {number[]} */ beside) => async () => {
      await poolIsFull(client);
      const start = performance.now();
      const answer = await call();
      const took = performance.now() - start;
      const row = await client.call(answer.exec_url ?? `/sandbox/execs/${answer.exec_id}`);
      const { start_mode: mode } = /** @type {Answer} */ (await row.json());
      if (mode !== 'warm') throw new Error(`It started ${mode}.`);
      beside.push(took - answer.duration_ms);
      return took;
    };
  try {
    /** @type {Record<string, number[]>} what is not the program's own time */
    const beside = {};
    const contestants = Object.fromEntries(
      Object.entries({ exec, invoke, 'invoke, alone': invokeAlone }).map(([name, call]) => {
        const own = (beside[`${name}: beside`] = /** @type {number[]} */ ([]));
        return [name, measured(call, own)];
      }),
    );
    const times = await alternate(contestants, runs);
    const others = Object.entries(beside).map(
      ([name, list]) => /** @type {const} */ ([name, list.slice(-runs)]),
    );
    const summaries = [...Object.entries(times), ...others].map(([name, list]) => summarize(name, list));
    return summaries;
  } finally {
    await stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** @param {import('./service.mjs').Client} client */
async function poolIsFull(client) {
  for (;;) {
    const response = await client.call('/sandbox/health');
    const { pool } =
      /** @type {{ pool: { warm: boolean, why?: string, waiting?: number, starting?: number } }} */ (
        await response.json()
      );
    if (!pool.warm && pool.why !== 'it is being tried')
      throw new Error(`No pool: ${pool.why ?? 'nobody says why'}`);
    if (pool.waiting === POOL && pool.starting === 0) return;
    await later(20);
  }
}
