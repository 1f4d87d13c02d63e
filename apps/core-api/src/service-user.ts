import { sandboxOwner } from '@secbox/workspace';

/** Why this user cannot run the service, if so: it hands folders over to the sandbox's user, or is that user. */
export function userProblem(platform: NodeJS.Platform, uid: number | undefined): string | undefined {
  if (platform !== 'linux' || uid === undefined || uid === 0 || uid === sandboxOwner.uid) return undefined;
  return `The server runs as uid ${uid}. On Linux it must run as root or as uid ${sandboxOwner.uid}: programs in the sandbox run as uid ${sandboxOwner.uid} and must own the folders they write.`;
}
