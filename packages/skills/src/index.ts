export { SkillCatalogue } from './skill-catalogue.js';
export { SkillInvoker, type SkillInvokerOptions } from './skill-invoker.js';
