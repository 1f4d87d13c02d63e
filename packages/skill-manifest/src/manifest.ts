import type { PolicyOverrides } from '@secbox/policy';

/** A JSON Schema as it stands in a manifest. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** `skills/<id>/manifest.json`, after every check of its form. */
export interface SkillManifest {
  readonly $schema?: string;
  readonly schema_version: 1;
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly interface: { readonly inputs: JsonSchema; readonly outputs: JsonSchema };
  readonly runtime: {
    readonly kind: 'docker';
    readonly image: string;
    readonly entrypoint: readonly [string, ...string[]];
  };
  readonly permissions: {
    readonly fs: { readonly read: readonly string[]; readonly write: readonly string[] };
    readonly net: { readonly mode: 'none' };
    /** Whether a human has to agree to every invocation; absent: as Settings have it. */
    readonly approval?: 'always' | 'as_settings';
  };
  readonly limits: PolicyOverrides;
}

/** As many as leave room for `skill_` in the name of a tool: APIs take 64. */
export const longestSkillId = 58;
export const skillIdPattern = '^[a-z0-9]+(\\.[a-z0-9]+)+$';
export const manifestName = 'manifest.json';

/** The images that skills may run in, by their names in manifests. */
export const skillImageNames = ['sandbox', 'data'] as const;
export type SkillImageName = (typeof skillImageNames)[number];
