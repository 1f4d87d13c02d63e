import { createBody } from './sandbox-flags.mjs';

/**
 * A container made, started, awaited and removed by the engine's API, and nothing else done.
 *
 * @param {import('../../docker/setup/engine-api.mjs').EngineApi} api
 * @param {Parameters<typeof createBody>[0]} options
 */
export async function runByEngine(api, options) {
  const created = await api.call('POST', '/containers/create', { json: createBody(options) });
  const { Id } = /** @type {{ Id: string }} */ (created);
  try {
    await api.call('POST', `/containers/${Id}/start`);
    const end = await api.call('POST', `/containers/${Id}/wait`, { query: { condition: 'not-running' } });
    const { StatusCode } = /** @type {{ StatusCode: number }} */ (end);
    if (StatusCode !== 0) throw new Error(`exit code ${StatusCode}`);
  } finally {
    await api.call('DELETE', `/containers/${Id}`, { query: { force: 'true' } });
  }
}
