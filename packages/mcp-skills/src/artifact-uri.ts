import { execIdPattern } from '@secbox/contracts';

/** What clients are told they may read. */
export const artifactUriTemplate = 'secbox://execs/{exec_id}/artifacts/{+path}';

const root = '/sandbox/';
const uriPattern = new RegExp(`^secbox://execs/(${execIdPattern.slice(1, -1)})/artifacts/(.+)$`);

/** From where the API has it, as that knows names that are not UTF-8. */
export function artifactUri(url: string): string {
  return `secbox://${url.slice(root.length)}`;
}

/** A source may make a URL of the path: nothing in it leads out of the exec's artifacts, however it is spelt. */
export function artifactAt(uri: string): { readonly execId: string; readonly path: string } | undefined {
  const [, execId, path] = uriPattern.exec(uri) ?? [];
  if (execId === undefined || path === undefined || !path.split('/').every(isName)) return undefined;
  return { execId, path };
}

/** Of characters that a URL has as they are, and no dots alone, which URL parsers resolve, also as %2e. */
function isName(component: string): boolean {
  return /^[\w.~!$&'()*+,;=:@%-]+$/.test(component) && !/^(\.|%2e){1,2}$/i.test(component);
}
