import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** How the engine's API is reached; the shape of dockerode's constructor options that we use. */
export type EngineEndpoint =
  | { readonly socketPath: string }
  | {
      readonly protocol: 'http' | 'https';
      readonly host: string;
      readonly port: number;
      readonly ca?: string;
      readonly cert?: string;
      readonly key?: string;
    };

export const defaultDockerHost =
  process.platform === 'win32' ? 'npipe:////./pipe/docker_engine' : 'unix:///var/run/docker.sock';

/** Reads a DOCKER_HOST value; `certPath` is the folder of DOCKER_CERT_PATH when TLS is wanted. */
export function parseDockerHost(dockerHost: string, certPath?: string): EngineEndpoint {
  const [, scheme, rest = ''] = /^(unix|npipe|tcp|https?):\/\/(.+)$/.exec(dockerHost) ?? [];
  if (scheme === 'unix' || scheme === 'npipe') return { socketPath: rest };

  const [, ipv6, name, port] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?\/?$/i.exec(rest) ?? [];
  const host = ipv6 ?? name;
  if (host === undefined || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) {
    throw new TypeError(
      `DOCKER_HOST="${dockerHost}" is not of the form unix://…, npipe://… or tcp://host:port.`,
    );
  }
  const tls = certPath !== undefined || scheme === 'https';
  return {
    protocol: tls ? 'https' : 'http',
    host,
    port: Number(port ?? (tls ? 2376 : 2375)),
    ...(certPath === undefined ? {} : certificates(certPath)),
  };
}

function certificates(folder: string): { ca: string; cert: string; key: string } {
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') };
}
