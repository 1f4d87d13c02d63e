import { codeRules } from './code-rules.js';
import { fileRules } from './file-rules.js';
import { limitRules } from './limit-rules.js';
import { systemRules } from './system-rules.js';

/** Every rule there is. docs/risk.md is made from this table, and a test keeps both in step. */
export const rules = { ...limitRules, ...codeRules, ...fileRules, ...systemRules };

export type RuleId = keyof typeof rules;
