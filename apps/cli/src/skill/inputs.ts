import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Call } from '../command.js';
import { UsageError } from '../exit-codes.js';

type Inputs = Record<string, unknown>;
type Schema = Readonly<Record<string, unknown>>;

/** What the options say, in the form that the skill takes: `--inputs`, then `--input` and `--file` over it. */
export function readInputs(call: Call, schema: Schema, cwd: string): Inputs {
  const inputs = wholeInputs(call.text('inputs'), cwd);
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
  for (const [key, text] of call.texts('input').map((each) => pairOf('input', each))) {
    inputs[key] = valueOf(key, text, properties[key]);
  }
  const lists = new Map<string, unknown[]>();
  for (const [key, path] of call.texts('file').map((each) => pairOf('file', each))) {
    const file = { name: basename(path), content_base64: readFile(path, cwd).toString('base64') };
    if (properties[key]?.['type'] !== 'array') inputs[key] = file;
    else {
      const list = lists.get(key) ?? [];
      list.push(file);
      lists.set(key, list);
      inputs[key] = list;
    }
  }
  return inputs;
}

function wholeInputs(written: string | undefined, cwd: string): Inputs {
  if (written === undefined) return {};
  const text = written.startsWith('@') ? readFile(written.slice(1), cwd).toString('utf8') : written;
  const value = parse(text, '--inputs');
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Inputs;
  throw new UsageError('--inputs takes a JSON object, or @file with one.');
}

export function pairOf(option: string, text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new UsageError(`--${option} takes name=value, not ${JSON.stringify(text)}.`);
}

/** Where the skill takes text, it is text; else JSON, and what is none is text where that may be. */
function valueOf(key: string, text: string, property: Schema | undefined): unknown {
  const type = property?.['type'];
  if (type === 'string') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const takesText = type === undefined || (Array.isArray(type) && type.includes('string'));
    if (takesText) return text;
    throw new UsageError(
      `--input ${key} takes JSON of the type ${JSON.stringify(type)}, not ${JSON.stringify(text)}.`,
    );
  }
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new UsageError(`${what} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export function readFile(path: string, cwd: string): Buffer {
  try {
    return readFileSync(resolve(cwd, path));
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
