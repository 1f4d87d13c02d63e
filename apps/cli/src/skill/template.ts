export const languages = ['python', 'bash'] as const;
export type Language = (typeof languages)[number];

export interface NewSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly language: Language;
}

/** The files of a skill that works as it is, and that its author changes bit by bit. */
export function skillTemplate(skill: NewSkill): ReadonlyMap<string, string> {
  const program = programs[skill.language];
  return new Map([
    ['manifest.json', json(manifestOf(skill))],
    [program.file, program.text],
    ['README.md', readmeOf(skill)],
    ['tests/cases.json', json(cases)],
  ]);
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

function manifestOf({ id, name, description, language }: NewSkill) {
  return {
    $schema: '../_schema/manifest.schema.json',
    schema_version: 1,
    id,
    name,
    description,
    interface: {
      inputs: {
        type: 'object',
        additionalProperties: false,
        required: ['text'],
        properties: {
          text: { type: 'string', maxLength: 100_000, description: 'The text to look at.' },
        },
      },
      outputs: {
        type: 'object',
        additionalProperties: false,
        required: ['words', 'lines'],
        properties: {
          words: { type: 'integer', minimum: 0 },
          lines: { type: 'integer', minimum: 0 },
        },
      },
    },
    runtime: { kind: 'docker', image: 'sandbox', entrypoint: programs[language].entrypoint },
    permissions: { fs: { read: ['inputs/**'], write: ['artifacts/**'] }, net: { mode: 'none' } },
    limits: { timeout_ms: 10_000, memory_mb: 128, pids: 32 },
  };
}

const programs: Readonly<Record<Language, { file: string; entrypoint: readonly string[]; text: string }>> = {
  python: {
    file: 'main.py',
    entrypoint: ['python', './main.py'],
    text: `"""Counts the words and lines of a text."""

import json
import os
import sys


def main() -> int:
    with open(os.environ["SECBOX_INPUT"], encoding="utf-8") as file:
        inputs = json.load(file)
    text = inputs["text"]
    if not text.strip():
        print("The text is empty.", file=sys.stderr)
        return 2  # what the caller can mend
    output = {"words": len(text.split()), "lines": len(text.splitlines())}
    with open("/workspace/artifacts/output.json", "w", encoding="utf-8") as file:
        json.dump(output, file)
    return 0


sys.exit(main())
`,
  },
  bash: {
    file: 'main.sh',
    entrypoint: ['bash', './main.sh'],
    text: `#!/usr/bin/env bash
# Counts the words and lines of a text.
set -euo pipefail

text=$(jq -r .text "$SECBOX_INPUT")
if [ -z "\${text//[[:space:]]/}" ]; then
  echo "The text is empty." >&2
  exit 2 # what the caller can mend
fi

jq -n --argjson words "$(wc -w <<<"$text")" --argjson lines "$(wc -l <<<"$text")" \\
  '{words: $words, lines: $lines}' >/workspace/artifacts/output.json
`,
  },
};

const cases = [
  {
    name: 'counts words and lines',
    inputs: { text: 'one two\nthree' },
    expect: { status: 'succeeded', output: { words: 3, lines: 2 } },
  },
  {
    name: 'an empty text is told',
    inputs: { text: ' ' },
    expect: { status: 'failed', exit_code: 2, stderr: 'The text is empty.' },
  },
  { name: 'the text is needed', inputs: {}, expect: { refused: '/inputs' } },
];

function readmeOf({ id, description }: NewSkill): string {
  return `# ${id}

${description}

\`\`\`json
{ "inputs": { "text": "one two\\nthree" } }
\`\`\`

What it takes and gives is in \`manifest.json\`; \`tests/cases.json\` shows it by examples.
`;
}
