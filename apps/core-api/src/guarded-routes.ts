import type { Principal } from '@secbox/access';
import { Router, type Express, type Request, type RequestHandler, type Response } from 'express';
import { methodNotAllowed } from './answer-errors.js';
import { callerOf } from './caller.js';
import type { RouteAccess } from './route-access.js';

/** Lets a request of this route in, or throws. */
export type Guard = (route: string, access: RouteAccess) => RequestHandler;

export type Handler = (request: Request, response: Response, caller: Principal) => unknown;

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

interface Entry {
  readonly method: Method;
  readonly handlers: readonly RequestHandler[];
}

/**
 * The routes of the service, each behind its guard. A route is named as the table of access names it,
 * `GET /things/{thing_id}`, and one that the table does not have cannot be made; its parameters are read from
 * `request.params`, but for a last `{path}`, which may hold slashes and any bytes and is read from `request.path`.
 */
export class GuardedRoutes<Name extends string = string> {
  readonly #access: Readonly<Record<Name, RouteAccess>>;
  readonly #guard: Guard;
  readonly #paths = new Map<string, Entry[]>();
  readonly #made = new Set<unknown>();

  constructor(access: Readonly<Record<Name, RouteAccess>>, guard: Guard) {
    this.#access = access;
    this.#guard = guard;
  }

  /** `before` are what reads the body, once the caller was let in. */
  on(name: Name, handler: Handler, before: readonly RequestHandler[] = []): void {
    if (!Object.hasOwn(this.#access, name)) {
      throw new Error(`The route ${name} has no entry in the table of access.`);
    }
    const [method = '', path = ''] = name.split(' ');
    const entries = this.#paths.get(path) ?? [];
    const last: RequestHandler = (request, response) => handler(request, response, callerOf(response));
    const guard = this.#guard(name, this.#access[name]);
    entries.push({ method: method.toLowerCase() as Method, handlers: [guard, ...before, last] });
    this.#paths.set(path, entries);
  }

  /** All of them, in the order in which their paths came; throws when an entry of the table has no route. */
  mount(app: Express): void {
    const router = Router();
    for (const [path, entries] of this.#paths) {
      const route = router.route(expressPath(path));
      for (const { method, handlers } of entries) route[method](...handlers);
      this.#made.add(route);
    }
    // Behind all of them: what is not taken at one path may be at another that fits too.
    for (const [path, entries] of this.#paths) {
      const route = router.route(expressPath(path));
      const allowed = entries.map(({ method }) => method.toUpperCase());
      route.all(methodNotAllowed(...allowed.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]))));
      this.#made.add(route);
    }
    const missing = Object.keys(this.#access).filter((name) => !this.#has(name));
    if (missing.length > 0) throw new Error(`The table of access has no routes for ${missing.join(', ')}.`);
    app.use(router);
    this.#assertNoOthers(app);
  }

  #has(name: string): boolean {
    const [method = '', path = ''] = name.split(' ');
    return this.#paths.get(path)?.some((entry) => entry.method === method.toLowerCase()) ?? false;
  }

  /** A route that went past this class would be open to everyone. */
  #assertNoOthers(app: Express): void {
    const layersOf = (layers: readonly Layer[]): Layer[] =>
      layers.flatMap((layer) => [layer, ...layersOf(layer.handle.stack ?? [])]);
    const { stack } = app.router as unknown as { readonly stack: readonly Layer[] };
    for (const { route } of layersOf(stack)) {
      if (route && !this.#made.has(route)) throw new Error(`The route ${String(route.path)} has no guard.`);
    }
  }
}

interface Layer {
  readonly route?: { readonly path: string | RegExp };
  readonly handle: { readonly stack?: readonly Layer[] };
}

/** Without a parameter for `{path}`: names need not be UTF-8, which Express would insist on. */
function expressPath(template: string): string | RegExp {
  if (!template.endsWith('/{path}')) return template.replaceAll(/\{(\w+)\}/g, ':$1');
  const source = template
    .slice(0, -'{path}'.length)
    .replaceAll('.', '\\.')
    .replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${source}.*$`);
}
