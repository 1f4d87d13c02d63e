import type { Rule } from './rule.js';

/** "Its own folders" are relative paths that do not climb out, /workspace and /tmp. */
export const fileRules = {
  'files.read-unknown': {
    level: 'LOW',
    title: 'Reads a file whose name is known only at run time',
    why: 'It can be any file that the process may read.',
    example: { language: 'python', finds: 'import sys\nopen(sys.argv[1])', passes: 'open("data.csv")' },
  },
  'files.read-outside': {
    level: 'MEDIUM',
    title: 'Reads outside its own folders',
    why: 'What lies there was not given to this code.',
    example: { language: 'bash', finds: 'cat /etc/passwd', passes: 'cat data/passwd' },
  },
  'files.read-credential': {
    level: 'HIGH',
    title: 'Touches keys, passwords or tokens',
    why: 'Who has read them can act as their owner.',
    example: {
      language: 'javascript',
      finds: `require('fs').readFileSync('/root/.ssh/id_rsa')`,
      passes: `require('fs').readFileSync('rsa.txt')`,
    },
  },
  'files.write': {
    level: 'LOW',
    title: 'Changes files in its own folders',
    why: 'What was there before is gone.',
    example: { language: 'python', finds: 'open("out.txt", "w")', passes: 'open("out.txt")' },
  },
  'files.write-unknown': {
    level: 'MEDIUM',
    title: 'Changes a file whose name is known only at run time',
    why: 'It can be any file that the process may change.',
    example: { language: 'bash', finds: 'echo x > "$1"', passes: 'echo "$1"' },
  },
  'files.write-outside': {
    level: 'HIGH',
    title: 'Changes files outside its own folders',
    why: 'Other programs rely on what lies there.',
    example: { language: 'bash', finds: 'echo x > /etc/hosts', passes: 'echo x > hosts' },
  },
  'files.persistence': {
    level: 'HIGH',
    title: 'Changes what is run at start, login or on a schedule',
    why: 'Its code would run again later, when nobody looks.',
    example: { language: 'bash', finds: `echo x >> ~/.bashrc`, passes: 'echo x >> bashrc.txt' },
  },
  'files.delete': {
    level: 'LOW',
    title: 'Deletes a file in its own folders',
    why: 'It is gone.',
    example: { language: 'bash', finds: 'rm old.txt', passes: 'ls old.txt' },
  },
  'files.delete-unknown': {
    level: 'MEDIUM',
    title: 'Deletes a file whose name is known only at run time',
    why: 'It can be any file that the process may delete.',
    example: {
      language: 'python',
      finds: 'import os, sys\nos.remove(sys.argv[1])',
      passes: 'import os\nos.remove("x")',
    },
  },
  'files.delete-tree': {
    level: 'MEDIUM',
    title: 'Deletes a folder of its own with all in it',
    why: 'Much is gone at once.',
    example: { language: 'bash', finds: 'rm -r build', passes: 'rm build/x' },
  },
  'files.delete-tree-unknown': {
    level: 'HIGH',
    title: 'Deletes a folder whose name is known only at run time',
    why: 'An unset variable is enough to make it the wrong one.',
    example: { language: 'bash', finds: 'rm -rf "$DIR"', passes: 'rm -rf build' },
  },
  'files.delete-outside': {
    level: 'HIGH',
    title: 'Deletes outside its own folders',
    why: 'Other programs rely on what lies there.',
    example: { language: 'bash', finds: 'rm /usr/bin/x', passes: 'rm bin/x' },
  },
  'files.destroy': {
    level: 'CRITICAL',
    title: 'Destroys a system, a home or a disk',
    why: 'There is nothing left to run on, or to restore from.',
    example: { language: 'bash', finds: 'rm -rf /', passes: 'rm -rf ./root' },
  },
  'files.permissions': {
    level: 'LOW',
    title: 'Changes permissions of its own files',
    why: 'A file can become runnable, or readable by others.',
    example: { language: 'bash', finds: 'chmod +x run.sh', passes: 'stat run.sh' },
  },
  'files.set-user-id': {
    level: 'HIGH',
    title: 'Makes a program run as its owner',
    why: 'Whoever starts such a program has its owner’s rights.',
    example: { language: 'bash', finds: 'chmod 4755 sh', passes: 'chmod 755 sh' },
  },
  'files.host': {
    level: 'CRITICAL',
    title: 'Reaches for the container engine or the host',
    why: 'Who can speak to the engine, or sees the host’s files, is out of the container.',
    example: {
      language: 'python',
      finds: 'open("/proc/1/root/etc/shadow")',
      passes: 'open("proc/1/root.txt")',
    },
  },
} as const satisfies Record<string, Rule>;
