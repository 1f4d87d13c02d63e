import { setTimeout as sleep } from 'node:timers/promises';
import { parseJson } from '../../docker/setup/json.mjs';
import { startService } from '../service.mjs';
import { openPoster } from './post-json.mjs';
import { checkOutput } from './programs.mjs';

/** @typedef {import('./programs.mjs').Program} Program */
/** @typedef {{ warm: boolean, size?: number, waiting?: number, starting?: number, why?: string }} PoolHealth */

/**
 * @typedef {object} Api a server that execs are sent to
 * @property {string} dataDir
 * @property {(program: Program, project?: string) => Promise<{ warm: boolean, execId: string }>} exec
 * @property {() => Promise<void>} poolFull settles when as many containers wait as shall, or there are none to wait for
 * @property {() => Promise<PoolHealth>} pool
 * @property {(execId: string) => number | undefined} engineMs how long an exec was the engine's
 * @property {() => Promise<void>} stop
 */

const FULL_WITHIN_MS = 20_000;
const LOOK_MS = 50;

/**
 * @param {NodeJS.ProcessEnv & { SECBOX_DATA_DIR: string }} env
 * @returns {Promise<Api>}
 */
export async function openApi(env) {
  /** @type {Map<string, number>} */
  const engineMs = new Map();
  const { client, stop } = await startService(
    { ...env, SECBOX_LOG_LEVEL: 'debug', SECBOX_LOG_FORMAT: 'json' },
    (line) => {
      const { event, level, exec_id, engine_ms } = /** @type {Record<string, unknown>} */ (parseJson(line));
      if (event === 'exec.ran') engineMs.set(String(exec_id), Number(engine_ms));
      if (level === 'error') process.stderr.write(`${line}\n`);
    },
  );

  const poster = openPoster(client.url, client.headers);
  const pool = async () => {
    const response = await client.call('/sandbox/health');
    return /** @type {{ pool: PoolHealth }} */ (await response.json()).pool;
  };
  /** @type {PoolHealth | undefined} */
  let known;
  const settledPool = async () => {
    while (known === undefined) {
      const health = await pool();
      if (health.warm || health.why !== 'it is being tried') known = health;
      else await sleep(LOOK_MS);
    }
    return known;
  };
  return {
    dataDir: env.SECBOX_DATA_DIR,
    pool,
    poolFull: async () => {
      const health = await settledPool();
      const end = performance.now() + FULL_WITHIN_MS;
      while (health.size !== undefined) {
        // Health asks the engine and the disk as well, which would be felt by what is measured.
        const text = await (await client.call('/metrics')).text();
        const waiting = figureIn(text, 'secbox_pool_waiting');
        const noneStarts = figureIn(text, 'secbox_pool_starting') === 0;
        if (waiting >= health.size && noneStarts) return;
        if (performance.now() > end) {
          // Memory may bound it to fewer than Settings say.
          if (noneStarts) health.size = waiting;
          return;
        }
        await sleep(LOOK_MS);
      }
    },
    exec: async (program, project = 'bench') => {
      const { status, text } = await poster.post('/sandbox/execs', {
        project_id: project,
        exec: program.exec,
        ...(program.input === undefined ? {} : { inputs: [program.input] }),
      });
      const answer =
        /** @type {{ status?: string, exec_id?: string, stdout?: string, start_mode?: string, artifacts?: { path: string, size: number }[] }} */ (
          parseJson(text)
        );
      if (answer.status !== 'succeeded') throw new Error(`${status} ${text}`);
      checkOutput(program, answer.stdout ?? '');
      const { artifact } = program;
      const found = answer.artifacts?.find(({ path }) => path === artifact?.path);
      if (artifact && found?.size !== artifact.content.length) throw new Error(`No artifact: ${text}`);
      return { warm: answer.start_mode === 'warm', execId: answer.exec_id ?? '' };
    },
    engineMs: (execId) => engineMs.get(execId),
    stop: async () => {
      poster.close();
      await stop();
    },
  };
}

/**
 * @param {string} metrics
 * @param {string} name
 */
function figureIn(metrics, name) {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? Number.NaN);
}
