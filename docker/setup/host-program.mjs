import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { contentTag, readTarFile, writeTar } from './build-context.mjs';
import { Failure } from './failure.mjs';
import { obtainCompiler } from './image.mjs';

const LABEL = 'set-up';
const UNDER_WAY_MS = 600_000;

/**
 * @typedef {object} HostProgramOptions
 * @property {NodeJS.ProcessEnv} env
 * @property {string} dataDir
 * @property {AbortSignal} signal
 * @property {(doing: string) => void} say
 * @property {string} [folder] of its sources
 */

/**
 * @typedef {{ program: string, built: boolean } | { program: undefined, why: string }} HostProgram
 */

/**
 * A program that runs on this host beside the service, compiled where the
 * sandbox's init is, as there is no compiler on the machine. One for each content
 * of its sources: a service that runs keeps the one it was started with.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {{ name: string, what: string, files: readonly import('./build-context.mjs').ContextFile[] }} made `what` it is, in
 *   words; its files hold a compile.sh
 * @param {HostProgramOptions} options
 * @returns {Promise<HostProgram>}
 */
export async function obtainHostProgram({ api }, made, options) {
  const folder = path.join(options.dataDir, 'bin');
  const program = path.join(folder, `${made.name}-${contentTag(made.files, process.arch)}`);
  if (existsSync(program)) return { program, built: false };

  const { env, signal, say } = options;
  const compiler = await obtainCompiler(api, { env, signal, say });
  say('compiling');
  const content = await compile(api, compiler, made, signal);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const unfinished = `${program}.${process.pid}`;
  try {
    writeFileSync(unfinished, content, { mode: 0o755, flush: true });
    chmodSync(unfinished, 0o755);
    renameSync(unfinished, program);
  } finally {
    rmSync(unfinished, { force: true });
  }
  return { program, built: true };
}

/**
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {string} image
 * @param {{ name: string, what: string, files: readonly import('./build-context.mjs').ContextFile[] }} made
 * @param {AbortSignal} signal
 * @returns {Promise<Buffer>}
 */
async function compile(api, image, { name, what, files }, signal) {
  const inside = `/${name}`;
  await removeAbandoned(api);
  const { Id } = /** @type {{ Id: string }} */ (
    await api.call('POST', '/containers/create', {
      json: {
        Image: image,
        User: '0:0',
        Entrypoint: [],
        Cmd: ['sh', `${inside}/compile.sh`, `${inside}/${name}`],
        // One plain stream of what the compiler says.
        Tty: true,
        Labels: { secbox: LABEL },
        HostConfig: { NetworkMode: 'none', CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'] },
      },
      signal,
    })
  );
  try {
    const sources = files.map((file) => ({ ...file, name: `${name}/${file.name}` }));
    await api.call('PUT', `/containers/${Id}/archive`, {
      query: { path: '/' },
      body: writeTar(sources),
      headers: { 'Content-Type': 'application/x-tar' },
      signal,
    });
    await api.call('POST', `/containers/${Id}/start`, { signal });
    const { StatusCode } = /** @type {{ StatusCode: number }} */ (
      await api.call('POST', `/containers/${Id}/wait`, { signal })
    );
    if (StatusCode !== 0) {
      const query = { stdout: '1', stderr: '1' };
      throw new Failure(`The program that ${what} could not be compiled.`, {
        details: await api.text('GET', `/containers/${Id}/logs`, { query, signal }),
      });
    }
    const query = { path: `${inside}/${name}` };
    return readTarFile(await api.bytes('GET', `/containers/${Id}/archive`, { query, signal }));
  } finally {
    await api.call('DELETE', `/containers/${Id}`, { query: { force: '1', v: '1' } });
  }
}

/**
 * What a set-up that was killed left behind; not of the last minutes, as one may run beside us.
 *
 * @param {import('./engine-api.mjs').EngineApi} api
 */
async function removeAbandoned(api) {
  const query = { all: '1', filters: JSON.stringify({ label: [`secbox=${LABEL}`] }) };
  const found = /** @type {{ Id: string, Created: number }[]} */ (
    await api.call('GET', '/containers/json', { query })
  );
  for (const { Id, Created } of found) {
    if (Date.now() - Created * 1000 < UNDER_WAY_MS) continue;
    await api.call('DELETE', `/containers/${Id}`, { query: { force: '1', v: '1' } });
  }
}
