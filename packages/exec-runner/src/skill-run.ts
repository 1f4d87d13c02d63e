import { SecboxError } from '@secbox/contracts';
import type { PolicyOverrides } from '@secbox/policy';
import type { JsonSchema } from '@secbox/skill-manifest';
import type { InputFile } from '@secbox/workspace';
import type { KnownImage } from './known-image.js';

/** The skill that an exec runs in the name of: what is decided before it runs, and kept with its plan. */
export interface PlannedSkill {
  readonly id: string;
  /** Absent where the command is the caller's own. */
  readonly invoked?: InvokedProgram;
}

/** The program of a skill, as it was when it was invoked. */
export interface InvokedProgram {
  readonly digest: string;
  /** What its output must be like. */
  readonly outputs: JsonSchema;
}

/** What a skill adds to a request: the rules of its manifest and, where it is invoked, its program. */
export interface SkillRun {
  readonly id: string;
  /** The name of an allowed image. */
  readonly image: string;
  /** Its layer of the policy: values, and ceilings for the request. */
  readonly limits: PolicyOverrides;
  readonly readOnlyWork: boolean;
  /** Whether its manifest asks for a human's word every time. */
  readonly asksApproval?: boolean;
  /** Absent where the command is the caller's own, under the skill's rules. */
  readonly invocation?: Invocation;
}

export interface Invocation extends InvokedProgram {
  /** Its own files and its input, below a folder with the name of the exec. */
  readonly files: readonly InputFile[];
  /** What makes two invocations the same, whichever exec they became. */
  readonly requested: unknown;
}

export function plannedSkill({ id, invocation }: SkillRun): PlannedSkill {
  if (!invocation) return { id };
  const { digest, outputs } = invocation;
  return { id, invoked: { digest, outputs } };
}

interface AllowedImages {
  readonly image: KnownImage;
  readonly skillImages?: Readonly<Record<string, KnownImage>>;
}

/** The image of an exec. */
export function imageOf(
  { image, skillImages = {} }: AllowedImages,
  skill: Pick<SkillRun, 'image' | 'id'> | undefined,
): KnownImage {
  if (!skill) return image;
  const allowed = Object.hasOwn(skillImages, skill.image) ? skillImages[skill.image] : undefined;
  if (allowed) return allowed;
  throw new SecboxError('skill_invalid', `The image "${skill.image}" of ${skill.id} is not allowed.`);
}

/** For an engine that is in trouble: whoever comes next is to hear of it. */
export function forgetImages({ image, skillImages = {} }: AllowedImages): void {
  for (const known of [image, ...Object.values(skillImages)]) known.forget();
}
