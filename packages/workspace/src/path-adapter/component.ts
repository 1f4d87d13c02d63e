import { SecboxError } from '@secbox/contracts';
import type { RuntimeMode } from './runtime-mode.js';

const maxComponentBytes = 255;

/** Devices on Windows in every folder, whatever their case and extension. */
const windowsDevice = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:\.|$)/i;

/** Why this cannot be one component of a path that may be mounted, or undefined. */
export function componentProblem(component: string, mode: RuntimeMode): string | undefined {
  if (component === '' || component === '.' || component === '..') return 'must not be empty, "." or ".."';
  if (/[\\/]/.test(component)) return 'must not hold / or \\';
  // It ends the source in `-v source:target`, and names an alternate stream on Windows.
  if (component.includes(':')) return 'must not hold a colon';
  if (/\p{Cc}|\p{Cs}/u.test(component)) return 'must not hold control characters or broken Unicode';
  if (Buffer.byteLength(component) > maxComponentBytes) return `has at most ${maxComponentBytes} bytes`;
  switch (mode) {
    // A folder that WSL makes on a drive is a Windows folder too.
    case 'windows':
    case 'wsl':
      return windowsProblem(component);
    case 'linux':
      return undefined;
  }
}

export function assertComponents(components: readonly string[], mode: RuntimeMode): void {
  if (components.length === 0)
    throw new SecboxError('invalid_path', 'The workspace root is no path below it.');
  for (const component of components) {
    const problem = componentProblem(component, mode);
    if (problem !== undefined) {
      const shown = JSON.stringify(component.slice(0, 64));
      throw new SecboxError('invalid_path', `The path component ${shown} ${problem}.`, {
        details: { component: component.slice(0, 64), problem },
      });
    }
  }
}

function windowsProblem(component: string): string | undefined {
  if (/[<>"|?*]/.test(component)) return 'must not hold any of < > " | ? * here';
  // Windows drops them without a word, so that two names would be one folder.
  if (/[. ]$/.test(component)) return 'must not end in a dot or a space here';
  if (windowsDevice.test(component)) return 'is the name of a device on Windows';
  return undefined;
}
