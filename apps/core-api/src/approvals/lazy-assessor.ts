import type { Logger } from '@secbox/logging';
import { openRiskAssessor, type RiskAssessor } from '@secbox/risk';

/** As much as a megabyte of usual code takes on a machine that is busy; threads are warm before it counts. */
const deadlineMs = 5000;
/** One thread looks at the code of all tenants: whoever has waited this long for a turn is told that nobody can tell. */
const waitMs = 10_000;

/**
 * Most services never look at code: its thread and its grammars are there from the first question on, or when somebody
 * waits for them to be ready.
 */
export function lazyAssessor(logger: Logger): RiskAssessor {
  let opened: RiskAssessor | undefined;
  const assessor = () => (opened ??= openRiskAssessor({ logger, deadlineMs, waitMs }));
  return {
    assess: (asked) => assessor().assess(asked),
    assessCommand: (argv, files) => assessor().assessCommand(argv, files),
    ready: () => assessor().ready(),
    close: async () => opened?.close(),
  };
}
