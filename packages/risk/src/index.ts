export type { Finding, RiskAssessment } from './assessment.js';
export type { CommandFiles } from './command.js';
export { decidesWhatRuns } from './commands/environment.js';
export { assessedLanguages, type AssessedLanguage } from './language.js';
export { highestOf, isAtLeast, riskLevels, type RiskLevel } from './level.js';
export {
  openRiskAssessor,
  type CodeToAssess,
  type RiskAssessor,
  type RiskAssessorOptions,
} from './risk-assessor.js';
export { rules, type RuleId } from './rules/catalogue.js';
export type { Example, Rule } from './rules/rule.js';
export {
  allowedSandboxes,
  recommendedSandbox,
  requiredSandbox,
  sandboxTypes,
  securityModes,
  type SandboxType,
  type SecurityMode,
} from './security-mode.js';
