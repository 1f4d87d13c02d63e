import { ratio } from '../summary.mjs';
import { programs } from './programs.mjs';

/** @typedef {import('./figures.mjs').Result} Result */
/** @typedef {{ target: string, met: boolean, measured: string }} Verdict */

const MS_OVER_BARE_HOST = 10;
const PYTHON_TIMES = 12;
const SHELL_TIMES = 20;
const SUSTAINED_SHARE = 0.8;
const OWN_MS = 15;
/** What a project that is new, or was idle for a day, may take more than a busy one: a disk is made or mounted. */
const PROJECT_MS = 20;

/**
 * What was promised, beside what was measured. Of what was not measured nothing is said.
 *
 * @param {readonly Result[]} results
 * @returns {Verdict[]}
 */
export function judge(results) {
  /** @type {(section: string, contestant: string, program?: { name: string }, gap?: number) => Result[]} */
  const find = (section, contestant, program, gap) =>
    results.filter(
      (result) =>
        result.section === section &&
        result.contestant.startsWith(contestant) &&
        (program === undefined || result.program === program.name) &&
        (gap === undefined || result.gap === gap) &&
        result.n > 0,
    );
  /** @type {Verdict[]} */
  const verdicts = [];
  /**
   * @param {string} target
   * @param {readonly { good: boolean, told: string }[]} seen
   */
  const say = (target, seen) => {
    if (seen.length === 0) return;
    verdicts.push({
      target,
      met: seen.every(({ good }) => good),
      measured: seen.map(({ told }) => told).join('; '),
    });
  };
  /** @type {(ours: readonly Result[], theirs: (ours: Result) => Result | undefined) => [Result, Result][]} */
  const pairs = (ours, theirs) =>
    ours.flatMap((own) => {
      const other = theirs(own);
      return other ? [/** @type {[Result, Result]} */ ([own, other])] : [];
    });
  const dockerRun = (/** @type {Result} */ { program }) => find('others', 'docker run', { name: program })[0];

  say(
    `warm python at 1000 ms gaps: at most bare host + ${MS_OVER_BARE_HOST} ms`,
    pairs(find('others', 'warm', programs.python), () => find('others', 'bare host')[0]).map(
      ([own, bare]) => ({
        good: own.p50 <= bare.p50 + MS_OVER_BARE_HOST,
        told: `${own.p50} ms, bare host ${bare.p50} ms`,
      }),
    ),
  );
  for (const [program, times] of /** @type {const} */ ([
    [programs.python, PYTHON_TIMES],
    [programs.true, SHELL_TIMES],
    [programs.bash, SHELL_TIMES],
  ])) {
    say(
      `warm ${program.name} at 1000 ms gaps: at least ${times} times as fast as docker run`,
      pairs(find('others', 'warm', program), dockerRun).map(([own, docker]) => ({
        good: docker.p50 / own.p50 >= times,
        told: `${(docker.p50 / own.p50).toFixed(1)} times (${own.p50} ms, ${docker.p50} ms)`,
      })),
    );
  }
  say(
    '250 ms gaps: all warm',
    find('gaps', 'warm', undefined, 250).map(({ program, warm_share = 0 }) => ({
      good: warm_share === 1,
      told: `${program} ${percent(warm_share)}`,
    })),
  );
  say(
    'no gaps: never slower than cold',
    pairs(
      find('gaps', 'warm', undefined, 0),
      ({ program }) => find('gaps', 'cold', { name: program }, 0)[0],
    ).map(([own, cold]) => ({
      // Whoever finds the pool just emptied waits for a start that shares the processors; that nobody has had an answer
      // later for it is what counts.
      good: own.p50 <= cold.p50 && (own.latest ?? 0) <= 1,
      told:
        `${own.program} ${ratio(own.p50, cold.p50)} times (p95 ${ratio(own.p95, cold.p95)})` +
        (own.latest === undefined ? '' : `, its answers after ${ratio(own.latest, 1)} of the time at most`),
    })),
  );
  say(
    'cold: at most as long as docker run',
    pairs(find('others', 'cold'), dockerRun).map(([own, docker]) => ({
      good: own.p50 <= docker.p50,
      told: `${own.program} ${ratio(own.p50, docker.p50)} times`,
    })),
  );
  say(
    `cold: at most ${OWN_MS} ms are not the engine's`,
    find('others', 'cold').flatMap(({ program, own_p50: own }) =>
      own === undefined ? [] : [{ good: own <= OWN_MS, told: `${program} ${own} ms` }],
    ),
  );
  say(
    `a new and an idle project: as warm as a busy one, and at most ${PROJECT_MS} ms slower`,
    pairs([...find('projects', 'new'), ...find('projects', 'idle')], () => find('projects', 'busy')[0]).map(
      ([own, busy]) => ({
        good: own.warm_share === 1 && own.p50 <= busy.p50 + PROJECT_MS,
        told: `${own.contestant} ${percent(own.warm_share ?? 0)}, ${own.p50} ms (busy ${percent(busy.warm_share ?? 0)}, ${busy.p50} ms)`,
      }),
    ),
  );
  say(
    `sustained: at least ${SUSTAINED_SHARE} times the rate of the engine alone, and none fails`,
    pairs(find('sustained', 'API'), () => find('sustained', 'engine')[0]).map(([own, bare]) => {
      const share = ratio(own.per_second ?? 0, bare.per_second ?? 0);
      return {
        good: share >= SUSTAINED_SHARE && own.failed === 0,
        told: `${share} times (${own.per_second}/s, ${bare.per_second}/s), p99 ${own.p99} ms, ${own.failed} failed`,
      };
    }),
  );
  return verdicts;
}

/** @param {number} share */
export function percent(share) {
  // A share that is nearly all is not to look like all.
  return `${Math.floor(share * 1000) / 10} %`;
}
