export { SkillsServer, type SkillsServerOptions } from './skills-server.js';
export type { InvocationEvent, ReadArtifact, SkillSource } from './skill-source.js';
export { skillIdOf, toolName, toolNamings, type ToolNaming } from './tool-names.js';
