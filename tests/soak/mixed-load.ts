import { ExecClient } from './exec-client.js';
import { execKinds } from './exec-kinds.js';
import { SeededRandom } from './seeded-random.js';

export interface MixedLoad {
  readonly url: string;
  readonly execs: number;
  readonly atOnce: number;
  readonly seed: number;
  /** Called after each. */
  readonly onDone?: (done: number) => void;
}

export interface LoadReport {
  readonly seconds: number;
  /** How many there were of each kind. */
  readonly kinds: Readonly<Record<string, number>>;
  /** What was not as it must be: which attempt, and why. */
  readonly failures: readonly string[];
}

const projects = 6;

/**
 * Execs of every kind, so many at a time. What each one is comes from the seed alone, whoever is faster: the
 * first of them are one of each kind.
 */
export async function runMixedLoad({ url, execs, atOnce, seed, onDone }: MixedLoad): Promise<LoadReport> {
  const client = new ExecClient(url);
  const names = Object.keys(execKinds);
  const choice = new SeededRandom(seed);
  const attempts = Array.from({ length: execs }, (_, n) => ({
    kind: names[n] ?? choice.pick(names),
    name: `x${seed}-${n}`,
    project: `soak-${choice.between(1, projects)}`,
    random: new SeededRandom(seed * 1_000_003 + n),
  }));

  const failures: string[] = [];
  const kinds: Record<string, number> = {};
  const waiting = attempts.values();
  let done = 0;
  const worker = async () => {
    for (const { kind, ...attempt } of waiting) {
      kinds[kind] = (kinds[kind] ?? 0) + 1;
      try {
        await execKinds[kind]?.({ ...attempt, client });
      } catch (error) {
        failures.push(`${kind} ${attempt.name}: ${error instanceof Error ? error.message : String(error)}`);
      }
      onDone?.((done += 1));
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { seconds: (performance.now() - start) / 1000, kinds, failures };
}
