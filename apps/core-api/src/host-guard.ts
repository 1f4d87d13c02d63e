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
    const asked = hostForm.test(host ?? '') ? partsOf(`http://${host ?? ''}`) : nowhere;
    if (!isOurs(asked.name)) {
      throw new SecboxError(
        'foreign_host',
        open
          ? 'The Host header must be an address of this server, or a name that SECBOX_ALLOWED_HOSTS lists.'
          : 'The Host header must name this machine: localhost, 127.0.0.1 or [::1].',
      );
    }
    if (origin !== undefined && !isOwnOrigin(partsOf(origin), asked)) {
      throw new SecboxError('foreign_host', 'Requests of pages of other sites are not answered.');
    }
    next();
  };

  /** Another port is another site: on a machine of developers, whatever somebody let serve pages there. */
  function isOwnOrigin(origin: Site, asked: Site): boolean {
    if (named.has(origin.name)) return true;
    const sameName = isLoopback(origin.name) ? isLoopback(asked.name) : origin.name === asked.name;
    return sameName && isOurs(origin.name) && origin.port === asked.port;
  }
}

interface Site {
  readonly name: string;
  /** Empty: that of its scheme. */
  readonly port: string;
}

const nowhere: Site = { name: '', port: '' };

/** A name or an address, and a port: nothing that a URL would take for something else than its host. */
const hostForm = /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
}

function partsOf(url: string): Site {
  if (!URL.canParse(url)) return nowhere;
  const { hostname: name, port } = new URL(url);
  return { name, port };
}
