import { zipBytes, type ZipPart } from '../../packages/skill-archive/src/testing/zip-bytes.js';

/** What the v1 API answers. */
export interface V1Answer {
  readonly code: number;
  readonly headers: Headers;
  readonly text: string;
  readonly status: 'success' | 'error' | undefined;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- Each call has its own; tests say what they expect.
  readonly data: any;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface V1Request {
  readonly method?: string;
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
}

export type V1Call = (path: string, request?: V1Request) => Promise<V1Answer>;

export function v1CallsTo(url: string): V1Call {
  return async (path, { method, body, headers = {}, key } = {}) => {
    const response = await fetch(`${url}${path}`, {
      method: method ?? 'GET',
      headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    const isJson = /^application\/json/.test(response.headers.get('content-type') ?? '');
    const json = (isJson ? JSON.parse(text) : {}) as { status?: V1Answer['status']; data?: unknown };
    const { status, data } = json;
    return { code: response.status, headers: response.headers, text, status, data, body: { ...json } };
  };
}

/** A ZIP of these files below one folder. */
export function skillZip(
  folder: string,
  files: Readonly<Record<string, string | Buffer>>,
): Buffer<ArrayBuffer> {
  return zipOfParts(
    Object.entries(files).map(([path, content]) => ({ name: `${folder}/${path}`, content, flags: 0x800 })),
  );
}

export function zipOfParts(parts: readonly ZipPart[]): Buffer<ArrayBuffer> {
  return Buffer.from(zipBytes(parts));
}

export function formWith(archive: Uint8Array<ArrayBuffer>, name = 'upload.zip'): FormData {
  const form = new FormData();
  form.append('file', new Blob([archive]), name);
  return form;
}
