import type { ApiKeys } from '@secbox/access';
import {
  apiKeyListQuerySchema,
  apiKeyRequestSchema,
  type ApiKeyListQuery,
  type ApiKeyRequest,
} from '@secbox/contracts';
import type { GuardedRoutes } from '../guarded-routes.js';
import { jsonBody } from '../json-body.js';
import { queryReader } from '../read-query.js';
import type { RouteName } from '../route-access.js';
import { validatorOf } from '../validate.js';

/** No list of keys is longer than this. */
const maxBodyBytes = 64 * 1024;

/** API keys: made, told of, and revoked. */
export function keyRoutes(
  routes: GuardedRoutes<RouteName>,
  keys: Pick<ApiKeys, 'create' | 'list' | 'revoke'>,
): void {
  const validate = validatorOf<ApiKeyRequest>(apiKeyRequestSchema);
  const readList = queryReader<ApiKeyListQuery>(apiKeyListQuerySchema);

  routes.on(
    'POST /keys',
    async (request, response, caller) => {
      const made = await keys.create(caller, request.ip ?? null, validate(request.body));
      // Told this once, and to be kept by nobody on the way.
      response.status(201).setHeader('cache-control', 'no-store').json(made);
    },
    jsonBody(maxBodyBytes),
  );

  routes.on('GET /keys', async (request, response, caller) => {
    response.json(await keys.list(caller, readList(request)));
  });

  routes.on('DELETE /keys/{key_id}', async (request, response, caller) => {
    response.json(await keys.revoke(caller, request.ip ?? null, String(request.params['key_id'])));
  });
}
