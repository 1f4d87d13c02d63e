const REDRAW_MS = 100;
const PLAIN_UPDATE_MS = 5_000;

/**
 * @typedef {object} Step
 * @property {(doing: string) => void} say what it is doing and how far it is
 * @property {(outcome: string) => void} done
 * @property {() => void} failed
 */

/**
 * @typedef {object} Progress
 * @property {(name: string) => Step} step
 * @property {(line: string) => void} note a line that stays
 * @property {() => { name: string, seconds: number }[]} finished the steps that are done
 * @property {() => number} seconds since the beginning
 * @property {() => void} close
 */

/**
 * @typedef {object} LiveStep
 * @property {string} name
 * @property {string} doing
 * @property {number} began
 * @property {number} printed when a plain line was last printed
 */

/**
 * Shows steps that run side by side: live lines on a terminal, plain lines elsewhere.
 *
 * @param {{ stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv }} options
 * @returns {Progress}
 */
export function createProgress({ stream, env }) {
  const live = stream.isTTY && env['TERM'] !== 'dumb';
  const color = live && (env['NO_COLOR'] ?? '') === '';
  const began = performance.now();
  /** @type {Set<LiveStep>} */
  const running = new Set();
  /** @type {{ name: string, seconds: number }[]} */
  const finished = [];
  const screen = { lines: 0 };

  const erase = () => {
    if (screen.lines > 0) stream.write(`\x1b[${screen.lines}A\x1b[J`);
    screen.lines = 0;
  };
  const draw = () => {
    const width = Math.max(20, (stream.columns || 80) - 1);
    for (const step of running) {
      const time = seconds(performance.now() - step.began);
      const room = width - time.length - 1;
      const text = `  ${step.name.padEnd(9)} ${step.doing}`;
      const shown = text.length > room ? `${text.slice(0, room - 1)}…` : text.padEnd(room);
      stream.write(`${color ? `\x1b[2m${shown} ${time}\x1b[0m` : `${shown} ${time}`}\n`);
    }
    screen.lines = running.size;
  };
  /** @param {string} line */
  const print = (line) => {
    if (live) erase();
    stream.write(`${line}\n`);
    if (live) draw();
  };
  const redraw = () => {
    erase();
    draw();
  };
  const timer = live ? setInterval(redraw, REDRAW_MS) : undefined;
  timer?.unref();

  /**
   * @param {LiveStep} step
   * @param {string} mark
   * @param {string} paint
   * @param {string} outcome
   */
  const end = (step, mark, paint, outcome) => {
    if (!running.delete(step)) return;
    const took = performance.now() - step.began;
    finished.push({ name: step.name, seconds: took / 1000 });
    const shown = color ? `\x1b[${paint}m${mark}\x1b[0m` : mark;
    print(`${shown} ${step.name.padEnd(9)} ${outcome} (${seconds(took)})`);
  };

  return {
    step(name) {
      /** @type {LiveStep} */
      const step = { name, doing: '', began: performance.now(), printed: 0 };
      running.add(step);
      return {
        say(doing) {
          // The first words tell the kind of work; figures that change every moment follow a colon.
          const otherWork = doing.split(':')[0] !== step.doing.split(':')[0];
          step.doing = doing;
          const now = performance.now();
          if (live || (!otherWork && now - step.printed < PLAIN_UPDATE_MS)) return;
          step.printed = now;
          stream.write(`  ${name.padEnd(9)} ${doing}\n`);
        },
        done: (outcome) => end(step, live ? '✔' : '*', '32', outcome),
        failed: () => end(step, live ? '✘' : '!', '31', 'failed'),
      };
    },
    note: print,
    finished: () => [...finished],
    seconds: () => (performance.now() - began) / 1000,
    close() {
      clearInterval(timer);
      if (live) erase();
      running.clear();
    },
  };
}

/** @param {number} ms */
export function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** @param {number} bytes */
export function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
