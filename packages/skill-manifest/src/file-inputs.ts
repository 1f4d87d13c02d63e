import { execIdPattern } from '@secbox/contracts';
import type { JsonSchema } from './manifest.js';
import { pointerOf } from './problem.js';
import { fileKeyword, isObject, schemasBelow } from './schema-keywords.js';

/** How an invocation names a file: its content, or an artifact of an earlier exec. */
export type FileInput =
  | { readonly name?: string; readonly content: string }
  | { readonly name?: string; readonly content_base64: string }
  | { readonly name?: string; readonly exec_id: string; readonly path: string; readonly sha256?: string };

const name = {
  type: 'string',
  description: 'What the program sees the file as.',
  maxLength: 255,
  pattern: '^(?!\\.{1,2}$)[^/\\\\\\u0000-\\u001f\\u007f]+$',
} as const;

/** What stands in the schema that callers see wherever the manifest says that there is a file. */
export const fileInputSchema = {
  type: 'object',
  oneOf: [
    {
      title: 'Text',
      additionalProperties: false,
      required: ['content'],
      properties: { name, content: { type: 'string' } },
    },
    {
      title: 'Bytes',
      additionalProperties: false,
      required: ['content_base64'],
      properties: { name, content_base64: { type: 'string' } },
    },
    {
      title: 'An artifact of an earlier exec',
      additionalProperties: false,
      required: ['exec_id', 'path'],
      properties: {
        name,
        exec_id: { type: 'string', pattern: execIdPattern },
        path: { type: 'string', minLength: 1, maxLength: 4096 },
        sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      },
    },
  ],
} as const;

/** How to get from the inputs to a file: a property by its name, every item, or every other property. */
export type FileRoute = readonly (
  { readonly property: string } | 'items' | { readonly except: readonly string[] }
)[];

/** The inputs as callers see them, and where in them the files are. */
export interface ExpandedInputs {
  readonly schema: JsonSchema;
  readonly files: readonly FileRoute[];
}

export function expandFiles(inputs: JsonSchema): ExpandedInputs {
  const files: FileRoute[] = [];
  return { schema: expand(inputs, [], files), files };
}

function expand(schema: JsonSchema, route: FileRoute, files: FileRoute[]): JsonSchema {
  if (Object.hasOwn(schema, fileKeyword)) {
    files.push(route);
    const { [fileKeyword]: _, ...words } = schema;
    return { ...words, ...fileInputSchema };
  }
  const copy: Record<string, unknown> = { ...schema };
  for (const [[keyword = '', key], inner] of schemasBelow(schema)) {
    if (!isObject(inner)) continue;
    if (keyword === 'properties' && key !== undefined) {
      const properties = copy['properties'] as Record<string, unknown>;
      copy['properties'] = { ...properties, [key]: expand(inner, [...route, { property: key }], files) };
    } else if (keyword === 'items') {
      copy['items'] = expand(inner, [...route, 'items'], files);
    } else if (keyword === 'additionalProperties') {
      const except = Object.keys(isObject(schema['properties']) ? schema['properties'] : {});
      copy['additionalProperties'] = expand(inner, [...route, { except }], files);
    }
  }
  return copy;
}

export interface FoundFile {
  readonly pointer: string;
  readonly file: FileInput;
  /** Puts something else in its place. */
  replace(value: unknown): void;
}

/** The files in inputs that fit their schema, in the order of the routes. */
export function findFiles(routes: readonly FileRoute[], inputs: unknown): FoundFile[] {
  const found: FoundFile[] = [];
  const visit = (
    value: unknown,
    route: FileRoute,
    path: readonly string[],
    put: (value: unknown) => void,
  ) => {
    const [step, ...rest] = route;
    if (step === undefined) {
      found.push({ pointer: pointerOf(path), file: value as FileInput, replace: put });
      return;
    }
    const container = value as Record<string, unknown>;
    for (const key of keysAt(step, value)) {
      visit(container[key], rest, [...path, key], (changed) => {
        container[key] = changed;
      });
    }
  };
  for (const route of routes) visit(inputs, route, [], () => undefined);
  return found;
}

function keysAt(step: FileRoute[number], value: unknown): string[] {
  if (step === 'items') return Array.isArray(value) ? [...value.keys()].map(String) : [];
  if (!isObject(value)) return [];
  if ('property' in step) return Object.hasOwn(value, step.property) ? [step.property] : [];
  return Object.keys(value).filter((key) => !step.except.includes(key));
}
