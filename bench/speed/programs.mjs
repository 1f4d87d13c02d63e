/**
 * @typedef {object} Program
 * @property {string} name as the table shows it
 * @property {readonly string[]} argv as everybody but the API runs it
 * @property {{ kind: string, command: string, args: readonly string[] }} exec as the API runs it
 * @property {string} prints
 * @property {{ path: string, content: string }} [input]
 * @property {{ path: string, content: string }} [artifact]
 */

const FILES_CODE =
  "text = open('/workspace/inputs/in.txt').read(); open('/workspace/artifacts/out.txt', 'w').write(text.upper()); print(1)";

/** @type {(code: string) => Pick<Program, 'argv' | 'exec'>} */
const python = (code) => ({
  argv: ['python', '-c', code],
  exec: { kind: 'python', command: 'python', args: ['-c', code] },
});

/** @type {(script: string) => Program['exec']} */
const shell = (script) => ({ kind: 'shell', command: 'bash', args: ['-lc', script] });

/** @satisfies {Record<string, Program>} */
export const programs = {
  // The API runs no program but by a shell or python, so that ours has a shell to start as well.
  true: { name: 'true', argv: ['true'], exec: shell('true'), prints: '' },
  bash: {
    name: "bash -lc 'echo 1'",
    argv: ['bash', '-lc', 'echo 1'],
    exec: shell('echo 1'),
    prints: '1\n',
  },
  python: { name: "python -c 'print(1)'", ...python('print(1)'), prints: '1\n' },
  files: {
    name: 'python, 1 input, 1 artifact',
    ...python(FILES_CODE),
    prints: '1\n',
    input: { path: 'in.txt', content: 'given\n' },
    artifact: { path: 'out.txt', content: 'GIVEN\n' },
  },
};

export const allPrograms = Object.values(programs).map((program) => /** @type {Program} */ (program));

/**
 * @param {Program} program
 * @param {string} stdout
 */
export function checkOutput({ name, prints }, stdout) {
  if (stdout !== prints)
    throw new Error(`${name} printed ${JSON.stringify(stdout)}, not ${JSON.stringify(prints)}`);
}
