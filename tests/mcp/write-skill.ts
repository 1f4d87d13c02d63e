import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface SmallSkill {
  readonly id: string;
  /** A bash script. */
  readonly script: string;
  readonly inputs?: object;
  readonly outputs?: object;
  readonly approval?: 'always' | 'as_settings';
}

/** Puts a skill into a folder of skills, whole at once. */
export async function writeSkill(
  skills: string,
  { id, script, inputs, outputs, approval = 'as_settings' }: SmallSkill,
): Promise<void> {
  const [draft, folder] = [join(skills, `.${id}`), join(skills, id)];
  const manifest = {
    schema_version: 1,
    id,
    name: `The skill ${id}`,
    description: `What ${id} does.`,
    interface: {
      inputs: inputs ?? { type: 'object', additionalProperties: false },
      outputs: outputs ?? { type: 'string' },
    },
    runtime: { kind: 'docker', image: 'sandbox', entrypoint: ['bash', './main.sh'] },
    permissions: { fs: { read: ['inputs/**'], write: ['artifacts/**'] }, net: { mode: 'none' }, approval },
    limits: { timeout_ms: 250_000 },
  };
  await mkdir(draft);
  await writeFile(join(draft, 'main.sh'), script);
  await writeFile(join(draft, 'manifest.json'), JSON.stringify(manifest, null, 2));
  await rename(draft, folder);
}
