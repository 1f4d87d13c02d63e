import type { ContainerEngine, EngineInfo } from '@secbox/container-engine';
import { SecboxError, type Settings } from '@secbox/contracts';

/** Throws when Settings ask for a runtime that the engine does not offer at this moment. */
export async function checkRuntime(
  { sandbox }: Settings,
  engine: Pick<ContainerEngine, 'info'>,
): Promise<void> {
  const runtime = sandbox?.runtime;
  if (runtime === undefined) return;
  const info = await engine.info();
  const problem = runtimeProblem(runtime, info);
  if (problem === undefined) return;
  throw new SecboxError('invalid_setting', `sandbox.runtime: ${problem}`, {
    details: { setting: 'sandbox.runtime', offered: runtimeNames(info) },
  });
}

export function runtimeProblem(runtime: string, info: EngineInfo): string | undefined {
  const names = runtimeNames(info);
  if (names.includes(runtime)) return undefined;
  return `the engine does not offer the runtime "${runtime}"; it offers ${names.join(', ')}.`;
}

/** What an administrator should know of a runtime that works. */
export function runtimeWarning(runtime: string, { runtimes }: EngineInfo): string | undefined {
  const { args = [] } = runtimes.find(({ name }) => name === runtime) ?? {};
  if (!args.some((word) => /^--?ignore-cgroups(=true)?$/.test(word))) return undefined;
  return `runtime: "${runtime}" runs with --ignore-cgroups, so no limit of memory, cpus or processes holds.`;
}

export function runtimeNames({ runtimes }: EngineInfo): string[] {
  return runtimes.map(({ name }) => name).sort();
}
