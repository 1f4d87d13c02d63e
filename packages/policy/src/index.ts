export { hardCeilings, type EngineCapacity, type PolicyCeilings, type PolicyEngine } from './ceilings.js';
export { systemDefaults } from './defaults.js';
export type { PolicyLimits, PolicyOverrides, PolicySettings } from './layers.js';
export { limitForms } from './limits.js';
export { checkManifestLimits } from './manifest-limits.js';
export { mergePolicy, type PolicyInputs } from './merge.js';
export { parseOverrides } from './parse-overrides.js';
export type { MalformedPolicy, PolicyAuthority, PolicyProblem, PolicyViolation } from './problems.js';
export { checkSettings, parseSettings, type UncheckedSettings } from './settings.js';
