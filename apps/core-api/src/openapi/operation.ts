/** One call of the API, as the OpenAPI document tells it. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  readonly path: string;
  readonly id: string;
  readonly tag:
    | 'execs'
    | 'skills'
    | 'layers'
    | 'sandboxes'
    | 'approvals'
    | 'audit'
    | 'files'
    | 'projects'
    | 'settings'
    | 'keys'
    | 'service';
  readonly summary: string;
  readonly query?: { readonly properties: object; readonly required?: readonly string[] };
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly required?: true }>>;
  /** The name of the body's schema. */
  readonly body?: string;
  /** Whether it can also be sent in several parts, with files. */
  readonly multipart?: true;
  /** Whether the body is a form with a file. */
  readonly form?: true;
  /** The types that a body of plain bytes or text has. */
  readonly bytes?: readonly string[];
  readonly answers: Readonly<Record<number, Answer>>;
  /** The codes that an error can have, by status; `default`: with any other status, what is answered is one. */
  readonly errors: Readonly<Record<number | string, string>>;
}

/** A schema by its name, or bytes of these types. */
type Answer = { readonly description: string } & (
  { readonly schema: string } | { readonly types: readonly string[] } | { readonly nothing: true }
);
