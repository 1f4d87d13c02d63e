import type { EngineImage, Prestart } from './container-engine.js';

/** Where images that have our init have it. */
export const initPath = '/sbin/secbox-init';

const initLabel = 'secbox.init';

/** Whether the image says that it has our init, of a version that we speak. */
export function hasInit(image: Pick<EngineImage, 'labels'>): boolean {
  return image.labels[initLabel] === '1';
}

const prestartLabel = 'secbox.prestart';

/** Whether the image says that its init can start this ahead of a request. */
export function offersPrestart(image: Pick<EngineImage, 'labels'>, prestart: Prestart): boolean {
  return hasInit(image) && image.labels[prestartLabel] === prestart;
}

/** The init's own option. */
export function prestartOption(prestart: Prestart): string {
  return `--prestart=${prestart}`;
}
