import { isIP } from 'node:net';

const known = ['loopback', 'linklocal', 'uniquelocal'];

/**
 * Whose `X-Forwarded-For` is believed: so many proxies before us, or those at these addresses. Anybody can send the
 * header, so that without it nobody is.
 */
export function readTrustProxy(
  text: string | undefined,
  problems: string[],
): number | readonly string[] | false {
  if (text === undefined || text === 'off') return false;
  if (/^[1-9]$/.test(text)) return Number(text);
  const proxies = text.split(/[\s,]+/).filter(Boolean);
  const wrong = proxies.filter((proxy) => !known.includes(proxy) && !isSubnet(proxy));
  if (wrong.length === 0) return proxies;
  problems.push(
    `SECBOX_TRUST_PROXY="${text}" must be off, how many proxies there are (1 to 9), or their addresses: "${wrong[0] ?? ''}" is none.`,
  );
  return false;
}

function isSubnet(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}
