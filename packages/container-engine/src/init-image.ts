import type { EngineImage } from './container-engine.js';

/** Where images that have our init have it. */
export const initPath = '/sbin/secbox-init';

const initLabel = 'secbox.init';

/** Whether the image says that it has our init, of a version that we speak. */
export function hasInit(image: Pick<EngineImage, 'labels'>): boolean {
  return image.labels[initLabel] === '1';
}
