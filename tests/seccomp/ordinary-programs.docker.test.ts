import { beforeAll, expect, test } from '@jest/globals';
import { runInContainer } from './container.js';
import { ourProfile } from './profile.js';

const programs = [
  'python: threads and thread pools',
  'python: multiprocessing',
  'python: multiprocessing by spawn and forkserver',
  'python: subprocesses, process groups, sessions',
  'python: asyncio with a subprocess and a server',
  'python: sqlite with a write-ahead log',
  'python: mmap, memfd, ctypes callbacks',
  'python: signals and interval timers',
  'python: select, poll, epoll, eventfd, timerfd, inotify, pidfd',
  'python: its own limits, priority and processors',
  'python: terminals',
  'python: files of every kind',
  'python: sockets of the loopback and of the file system',
  'python: names are looked up',
  'pip: a local wheel, in a virtual environment too',
  'curl: from a server on 127.0.0.1 and on localhost',
  'bash: pipes, jobs, traps, process substitution',
  'git: init, commit, branch, clone',
  'jq, awk, sed, grep, find, xargs, sort',
  'tar, gzip, coreutils',
  'gcc: a program with threads, where there is a compiler',
];

/** What ordinary.py prints: "ok", or what went wrong. */
let results: Readonly<Record<string, string>>;
beforeAll(async () => {
  results = (await runInContainer('ordinary.py', ourProfile)) as Record<string, string>;
}, 60_000);

test.each(programs)('%s', (name) => {
  expect(results[name]).toBe('ok');
});

test('every check of the program is in the list', () => {
  expect(Object.keys(results)).toEqual(programs);
});
