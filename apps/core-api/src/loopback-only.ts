import { SecboxError } from '@secbox/contracts';
import type { RequestHandler } from 'express';

/** Whether a host name or address can only be this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Refuses what a browser sends for a page of another site. A name that an attacker lets point here
 * (DNS rebinding) makes such a page look like one of ours, but not its `Host` header.
 */
export const loopbackOnly: RequestHandler = (request, _response, next) => {
  const { host, origin } = request.headers;
  if (!isLoopback(hostnameOf(`http://${host ?? ''}`))) {
    throw new SecboxError(
      'foreign_host',
      'The Host header must name this machine: localhost, 127.0.0.1 or [::1].',
    );
  }
  if (origin !== undefined && !isLoopback(hostnameOf(origin))) {
    throw new SecboxError('foreign_host', 'Requests of pages of other sites are not answered.');
  }
  next();
};

function hostnameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}
