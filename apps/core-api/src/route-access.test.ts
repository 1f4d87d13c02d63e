import { expect, test } from '@jest/globals';
import { routeAccess, type RouteAccess } from './route-access.js';

const table = Object.entries<RouteAccess>(routeAccess);

test('an auditor reads everything of the tenant, but its keys, and changes nothing', () => {
  const may = (access: RouteAccess) => access !== 'open' && access.roles.includes('auditor');
  const unread = table.filter(
    ([route, access]) =>
      route.startsWith('GET ') && access !== 'open' && access.scope === 'tenant' && !may(access),
  );
  expect(unread.map(([route]) => route)).toEqual(['GET /keys']);
  const changing = table.filter(([route, access]) => !route.startsWith('GET ') && may(access));
  // Sessions of their own, in which they may list skills.
  expect(changing.map(([route]) => route)).toEqual(['POST /mcp', 'DELETE /mcp']);
});
