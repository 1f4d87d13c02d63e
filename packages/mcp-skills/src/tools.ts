import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import type { SkillAnswer } from '@secbox/contracts';
import { toolName, type ToolNaming } from './tool-names.js';
import { inputSchemaOf, outputSchemaOf } from './tool-schemas.js';

export function toolOf(skill: SkillAnswer, naming: ToolNaming): Tool {
  const { id, digest, name, description } = skill;
  return {
    name: toolName(id, naming),
    ...(name === null ? {} : { title: name }),
    ...(description === null ? {} : { description }),
    inputSchema: inputSchemaOf(skill.interface?.inputs ?? {}),
    ...(skill.interface && { outputSchema: outputSchemaOf(skill.interface.outputs) }),
    // In a sandbox without a network there is nothing else to change than the project's own work.
    annotations: { readOnlyHint: !writesWork(skill), openWorldHint: false },
    _meta: { 'secbox/skill_id': id, 'secbox/digest': digest },
  };
}

function writesWork({ permissions }: SkillAnswer): boolean {
  const { fs } = (permissions ?? {}) as { readonly fs?: { readonly write?: readonly string[] } };
  return fs?.write?.includes('work/**') ?? true;
}
