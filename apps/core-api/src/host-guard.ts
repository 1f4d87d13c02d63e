import { SecboxError } from '@secbox/contracts';
import type { RequestHandler } from 'express';
import { isIP } from 'node:net';

/** Whether a host name or address can only be this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

export interface HostGuardOptions {
  /** The address that the server listens on. */
  readonly host: string;
  /** The names that it is reached by, beside its addresses. */
  readonly allowedHosts: readonly string[];
}

/**
 * Refuses what a browser sends for a page of another site. A name that an attacker lets point here
 * (DNS rebinding) makes such a page look like one of ours, but not its `Host` header; an address cannot be
 * made to point elsewhere, so that on an open network addresses are names enough.
 */
export function hostGuard({ host: listensOn, allowedHosts }: HostGuardOptions): RequestHandler {
  const named = new Set(allowedHosts.map((name) => name.toLowerCase()));
  const open = !isLoopback(listensOn);
  const isOurs = (name: string) => isLoopback(name) || named.has(name) || (open && isAddress(name));
  return (request, _response, next) => {
    const { host, origin } = request.headers;
    const name = hostForm.test(host ?? '') ? hostnameOf(`http://${host ?? ''}`) : '';
    if (!isOurs(name)) {
      throw new SecboxError(
        'foreign_host',
        open
          ? 'The Host header must be an address of this server, or a name that SECBOX_ALLOWED_HOSTS lists.'
          : 'The Host header must name this machine: localhost, 127.0.0.1 or [::1].',
      );
    }
    if (origin !== undefined && !isOwnOrigin(hostnameOf(origin), name)) {
      throw new SecboxError('foreign_host', 'Requests of pages of other sites are not answered.');
    }
    next();
  };

  function isOwnOrigin(origin: string, host: string): boolean {
    if (isLoopback(origin)) return isLoopback(host);
    return named.has(origin) || (isOurs(origin) && origin === host);
  }
}

/** A name or an address, and a port: nothing that a URL would take for something else than its host. */
const hostForm = /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
}

function hostnameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}
