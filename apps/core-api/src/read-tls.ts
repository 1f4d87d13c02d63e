import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { ConfigError, type Config } from './config.js';
import type { TlsFiles } from './http-server.js';

/** The certificate and its key, if they can be used together. */
export async function readTls({ certFile, keyFile }: NonNullable<Config['tls']>): Promise<TlsFiles> {
  const read = (variable: string, file: string) =>
    readFile(file).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new ConfigError([`${variable}: ${why}.`]);
    });
  const files = { cert: await read('SECBOX_TLS_CERT', certFile), key: await read('SECBOX_TLS_KEY', keyFile) };
  try {
    createSecureContext(files);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`SECBOX_TLS_CERT and SECBOX_TLS_KEY cannot be used: ${why}.`]);
  }
  return files;
}
