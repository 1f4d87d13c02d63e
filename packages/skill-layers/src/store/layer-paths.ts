import { join } from 'node:path';
import type { AgentId, ExecId, LayeredSkillId, UserId } from '@secbox/contracts';

/** One user's view of one agent. */
export interface UserPlace {
  readonly userId: UserId;
  readonly agentId: AgentId;
  /** Whoever asks only looks: that is no use of it, and nothing is pinned or made. */
  readonly onlyLooks?: true;
}

export interface SkillPlace extends UserPlace {
  readonly skillId: LayeredSkillId;
}

export type BaselinePlace = Omit<SkillPlace, 'userId'>;

/** The global tool pack, under whose name nobody has a skill of their own. */
export const globalPackId = 'skill-creator';

/** Where everything lies, from ids that their parser made. No id begins with a dot, so that ours can. */
export class LayerPaths {
  constructor(readonly root: string) {}

  get staging(): string {
    return join(this.root, 'skill', '.staging');
  }

  get execs(): string {
    return join(this.root, 'skill', '.execs');
  }

  /** What is on its way lies here itself. */
  get trash(): string {
    return join(this.root, 'skill', '.trash');
  }

  /** No id of something in the trash is its name. */
  get trashedUsers(): string {
    return join(this.trash, 'users');
  }

  trashedOf({ userId, agentId }: UserPlace): string {
    return join(this.trashedUsers, agentId, userId);
  }

  get baselines(): string {
    return join(this.root, 'skill', 'baseline');
  }

  get overlays(): string {
    return join(this.root, 'skill', 'overlay');
  }

  get globalPack(): string {
    return join(this.root, globalPackId);
  }

  exec(execId: ExecId): string {
    return join(this.execs, execId);
  }

  /** The document that says which versions are current. */
  pointers(agentId: AgentId): string {
    return join(this.baselines, agentId, '.meta', 'current.json');
  }

  baseline({ agentId, skillId }: BaselinePlace): string {
    return join(this.baselines, agentId, skillId);
  }

  version(place: BaselinePlace, version: string): string {
    return join(this.baseline(place), version);
  }

  versionDocuments(place: BaselinePlace): string {
    return join(this.baseline(place), '.meta');
  }

  versionDocument(place: BaselinePlace, version: string): string {
    return join(this.versionDocuments(place), `${version}.json`);
  }

  user({ userId, agentId }: UserPlace): string {
    return join(this.overlays, userId, agentId);
  }

  userMeta(place: UserPlace): string {
    return join(this.user(place), '.meta');
  }

  /** What upload tells callers, and what they may use in arguments. */
  skill(place: SkillPlace): string {
    return join(this.user(place), place.skillId);
  }

  generation(place: SkillPlace, generation: number): string {
    return join(this.skill(place), String(generation));
  }

  /** The whole of a generation with what is below it, for the kernel, where something is deleted. */
  wholeGeneration(place: SkillPlace, generation: number): string {
    return join(this.skill(place), `${generation}.whole`);
  }

  sandbox({ userId, agentId }: UserPlace): string {
    return join(this.root, 'sandbox', userId, agentId);
  }
}
