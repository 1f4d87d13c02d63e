import type { RiskFinding, RiskReport } from '@secbox/contracts';
import { highestOf, isAtLeast, riskLevels, type RiskAssessor } from '@secbox/risk';
import type { Requirement } from './approval-rules.js';

/** What would run, as far as it can be looked at. */
export interface Assessed {
  readonly argv: readonly string[];
  /** What files hold that take part in it, by the paths that it would name; no secret ones. */
  readonly files: ReadonlyMap<string, string>;
  /** Those of them that python may load without being told to. */
  readonly modules: readonly string[];
  readonly stdin: string;
  /** What decides what runs and cannot be looked at, in words. */
  readonly unseen: readonly string[];
}

/** Why a human has to agree, and what was found. */
export interface NeededWord {
  readonly because: string;
  readonly risk: RiskReport;
}

/** Undefined when nobody has to agree to it. */
export async function neededWord(
  { always, fromLevel }: Requirement,
  assessed: Assessed,
  assessor: Pick<RiskAssessor, 'assessCommand'>,
): Promise<NeededWord | undefined> {
  if (always === undefined && fromLevel === undefined) return undefined;
  const risk = await assess(assessed, assessor);
  if (always !== undefined) return { because: always, risk };
  if (fromLevel === undefined) return undefined;
  const [unseen] = assessed.unseen;
  if (unseen !== undefined) {
    return { because: `Nobody can look at ${unseen}, and Settings ask from ${fromLevel} on.`, risk };
  }
  // What nobody could look at to its end may be anything: a flood or a slow machine must not get past the rule.
  if (!risk.complete) {
    return { because: `It could not be looked at to its end, and Settings ask from ${fromLevel} on.`, risk };
  }
  if (!isAtLeast(risk.level, fromLevel)) return undefined;
  return { because: `It looks ${risk.level}, and Settings ask for it from ${fromLevel} on.`, risk };
}

const mostFindings = 200;

/** Of the command, and of all that it may load. */
async function assess(
  { argv, files, modules, stdin, unseen }: Assessed,
  assessor: Pick<RiskAssessor, 'assessCommand'>,
): Promise<RiskReport> {
  const reports = [await assessWithStdin(argv, files, stdin, assessor)];
  for (const file of modules) {
    const { findings, ...found } = await assessor.assessCommand(['python', file], { files });
    reports.push({ ...found, findings: findings.map((finding) => ({ ...finding, file })) });
  }
  const findings = reports.flatMap((report) => report.findings);
  const kept = findings.length > mostFindings ? gravest(findings) : findings;
  return {
    level: highestOf(reports.map(({ level }) => level)),
    findings: kept,
    omitted: reports.reduce((sum, { omitted }) => sum + omitted, findings.length - kept.length),
    complete: unseen.length === 0 && reports.every(({ complete }) => complete),
  };
}

function gravest(findings: readonly RiskFinding[]): RiskFinding[] {
  return riskLevels
    .toReversed()
    .flatMap((level) => findings.filter((finding) => finding.level === level))
    .slice(0, mostFindings);
}

/** What is sent on stdin is kept nowhere in the clear: what was found in it is told without showing it. */
async function assessWithStdin(
  argv: readonly string[],
  files: ReadonlyMap<string, string>,
  stdin: string,
  assessor: Pick<RiskAssessor, 'assessCommand'>,
): Promise<RiskReport> {
  const shown: RiskReport = await assessor.assessCommand(argv, { files });
  if (stdin === '') return shown;
  const places = new Set(shown.findings.map(placeOf));
  const found: RiskReport = await assessor.assessCommand(argv, { files, stdin });
  return {
    ...found,
    findings: found.findings.map((finding) =>
      places.has(placeOf(finding)) ? finding : { ...finding, excerpt: null },
    ),
  };
}

function placeOf({ rule, line, column, excerpt, within = '' }: RiskFinding): string {
  return JSON.stringify([rule, line, column, excerpt, within]);
}
