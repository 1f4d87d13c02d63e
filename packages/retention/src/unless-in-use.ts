import { SecboxError } from '@secbox/contracts';
import type { ProjectKey } from './retention-records.js';
import { nothing, type Step } from './step.js';

/** A project that is in use is passed over, and counted. */
export async function* unlessInUse(
  { tenant, projectId }: ProjectKey,
  work: () => Promise<Step>,
): AsyncGenerator<Step> {
  try {
    yield await work();
  } catch (error) {
    if (!(error instanceof SecboxError) || error.code !== 'project_in_use') throw error;
    yield { ...nothing, inUse: [`${tenant}/${projectId}`] };
  }
}
