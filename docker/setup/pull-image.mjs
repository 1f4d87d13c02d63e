import { EngineError } from './engine-api.mjs';
import { megabytes } from './progress.mjs';

const NO_PROGRESS_MS = 15_000;

/**
 * Pulls an image, giving up when nothing moves: a registry behind a silent
 * firewall would else hold us for minutes.
 *
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {string} image
 * @param {{ signal: AbortSignal, say: (doing: string) => void, noProgressMs?: number }} options
 * @returns {Promise<{ ok: true } | { ok: false, reason: string }>}
 */
export async function pullImage(api, image, { signal, say, noProgressMs = NO_PROGRESS_MS }) {
  const [fromImage = '', tag = ''] = image.split(':');
  const giveUp = new AbortController();
  const stop = () => giveUp.abort();
  signal.addEventListener('abort', stop, { once: true });
  const timer = setTimeout(stop, noProgressMs);
  /** @type {Map<string, { current: number, total: number }>} */
  const layers = new Map();
  say(`pulling ${image}`);
  try {
    const request = { query: { fromImage, tag }, signal: giveUp.signal };
    await api.messages('POST', '/images/create', request, ({ id, status = '', progressDetail }) => {
      // Waiting and retrying are words, not progress.
      if (!/^(Waiting|Retrying)/.test(status)) timer.refresh();
      if (id === undefined || progressDetail?.total === undefined || status !== 'Downloading') return;
      layers.set(id, { current: progressDetail.current ?? 0, total: progressDetail.total });
      const all = [...layers.values()];
      const current = all.reduce((sum, layer) => sum + layer.current, 0);
      const total = all.reduce((sum, layer) => sum + layer.total, 0);
      say(`pulling ${image}: ${megabytes(current)} of ${megabytes(total)}`);
    });
    return { ok: true };
  } catch (error) {
    signal.throwIfAborted();
    if (giveUp.signal.aborted) return { ok: false, reason: `no progress within ${noProgressMs / 1000} s` };
    if (error instanceof EngineError) return { ok: false, reason: error.message };
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}
