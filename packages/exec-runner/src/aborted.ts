const known = new WeakMap<AbortSignal, Promise<void>>();

/** Settles when the signal is aborted. However often it is asked for, one listener waits. */
export function aborted(signal: AbortSignal): Promise<void> {
  const asked = known.get(signal);
  if (asked) return asked;
  const promise = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  known.set(signal, promise);
  return promise;
}
