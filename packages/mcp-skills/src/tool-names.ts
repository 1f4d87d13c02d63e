/** Some APIs of models take no dots in the names of tools. */
export const toolNamings = ['dots', 'underscores'] as const;
export type ToolNaming = (typeof toolNamings)[number];

const prefix = 'skill';

/** `skill.json.query`, or `skill_json_query`; ids have no underscores, so that nothing is lost. */
export function toolName(skillId: string, naming: ToolNaming): string {
  const name = `${prefix}.${skillId}`;
  return naming === 'dots' ? name : name.replaceAll('.', '_');
}

/** Undefined when it is no name of ours. */
export function skillIdOf(name: string, naming: ToolNaming): string | undefined {
  const pattern =
    naming === 'dots' ? /^skill\.([a-z0-9]+(\.[a-z0-9]+)+)$/ : /^skill_([a-z0-9]+(_[a-z0-9]+)+)$/;
  return pattern.exec(name)?.[1]?.replaceAll('_', '.');
}
