import type { LayersFixture } from './layers-fixture.js';

/** Opens the layers so that nothing goes on past the step of that number; resolves when it is reached. */
export async function freezeAt(
  fixture: LayersFixture,
  step: number,
): Promise<{ readonly reached: Promise<void> }> {
  let tell: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => (tell = resolve));
  await openWith(fixture, step, async (past) => {
    if (past === 0) tell();
    await new Promise<never>(() => undefined);
  });
  return { reached };
}

/** Opens the layers so that the step of that number fails, as when the disk does, and none before or after it. */
export function failAt(fixture: LayersFixture, step: number): Promise<void> {
  return openWith(fixture, step, (past) =>
    past === 0 ? Promise.reject(new Error('The disk fails.')) : Promise.resolve(),
  );
}

async function openWith(
  fixture: LayersFixture,
  step: number,
  onPast: (past: number) => Promise<void>,
): Promise<void> {
  let left = Number.POSITIVE_INFINITY;
  await fixture.reopen({
    ...fixture.options,
    onStep: async () => {
      left -= 1;
      if (left < 0) await onPast(-1 - left);
    },
  });
  left = step;
}
