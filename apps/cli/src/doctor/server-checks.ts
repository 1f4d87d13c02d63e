import { ApiError, type SecboxClient } from '@secbox/client';
import { bad, good, reasonOf, warning, type Finding } from './finding.js';

interface Told {
  readonly status?: string;
  readonly version?: string;
  readonly problems?: readonly string[];
  readonly warnings?: readonly string[];
  readonly pool?: { readonly state?: string };
}

/** A server need not run; one that does is asked how it is. */
export async function checkServer(client: SecboxClient, url: string): Promise<Finding[]> {
  let health: Told;
  try {
    health = await client.health();
  } catch (error) {
    if (error instanceof ApiError && error.kind === 'unauthorized') {
      return [
        good('server', `answers at ${url}`),
        bad(
          'key',
          'there is none, or it does not hold',
          'Make one: npm run key -- --role worker; then set SECBOX_KEY.',
        ),
      ];
    }
    return [warning('server', reasonOf(error), 'Start it with "npm start", or name another with --url.')];
  }
  const { status, version = '', problems = [], warnings = [] } = health;
  return [
    status === 'ok'
      ? good('server', `${version} at ${url}`)
      : bad('server', `at ${url} is ${status ?? 'not well'}`, 'What follows says why.'),
    good('key', 'holds'),
    ...problems.map((problem) => bad('server', problem, 'See the log of the server.')),
    ...warnings.map((text) => warning('server', text, 'Execs run, but this holds less than it should.')),
  ];
}
