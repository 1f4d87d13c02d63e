/** From harmless to ruinous, in this order. docs/risk.md says what each means. */
export const riskLevels = ['SAFE', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;
export type RiskLevel = (typeof riskLevels)[number];

export function isAtLeast(level: RiskLevel, floor: RiskLevel): boolean {
  return riskLevels.indexOf(level) >= riskLevels.indexOf(floor);
}

export function highestOf(levels: Iterable<RiskLevel>): RiskLevel {
  let highest: RiskLevel = 'SAFE';
  for (const level of levels) if (isAtLeast(level, highest)) highest = level;
  return highest;
}
