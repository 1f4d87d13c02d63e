const LOOK_MS = 250;

/**
 * npm passes a signal to the shell it runs us in, and the shell dies of it
 * without telling us. So a script of npm's watches its parent, and takes its
 * death as the signal it was meant to get.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {() => void} stops watching
 */
export function watchNpm(env) {
  if (process.platform === 'win32' || env['npm_lifecycle_event'] === undefined) return () => undefined;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
