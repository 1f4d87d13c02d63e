import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { createLogger } from '@secbox/logging';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAtLeast } from './level.js';
import { openRiskAssessor, type RiskAssessor, type RiskAssessorOptions } from './risk-assessor.js';

const silent = createLogger({ level: 'error', format: 'json', destination: new PassThrough() });
const open: RiskAssessor[] = [];

function assessor(options: Partial<RiskAssessorOptions> = {}): RiskAssessor {
  const made = openRiskAssessor({ logger: silent, deadlineMs: 20_000, ...options });
  open.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

/** Starting a thread takes longer than what most tests ask of it. */
const shared = openRiskAssessor({ logger: silent, deadlineMs: 20_000 });
const robust = openRiskAssessor({ logger: silent, deadlineMs: 2_000, maxBytes: 2_000_000 });

afterAll(async () => {
  await Promise.all([shared.close(), robust.close()]);
});

/** A megabyte that takes seconds to parse. */
const slow = { language: 'bash', code: '${'.repeat(500_000) } as const;

const rulesOf = ({ findings }: { findings: readonly { rule: string }[] }) => findings.map(({ rule }) => rule);

describe('assessing code', () => {
  test('says rule, level, place, excerpt and why', async () => {
    const code = 'import os\nif True:\n    os.system("rm -rf /")\n';
    const { level, findings, complete, omitted } = await shared.assess({ language: 'python', code });
    expect({ level, complete, omitted }).toEqual({ level: 'CRITICAL', complete: true, omitted: 0 });
    expect(findings).toContainEqual({
      rule: 'files.destroy',
      level: 'CRITICAL',
      line: 3,
      column: 5,
      excerpt: 'rm -rf /',
      why: expect.any(String),
      within: 'bash',
    });
    expect(findings).toContainEqual(expect.objectContaining({ rule: 'process.start', line: 3, column: 5 }));
  });

  test('harmless code is SAFE, without findings', async () => {
    expect(await shared.assess({ language: 'bash', code: 'echo hi | wc -c' })).toEqual({
      level: 'SAFE',
      findings: [],
      omitted: 0,
      complete: true,
    });
  });

  test('excerpts are cut, and show control characters', async () => {
    const code = `eval("\u001b[2J${'x'.repeat(500)}")`;
    const { findings } = await shared.assess({ language: 'python', code });
    for (const { excerpt } of findings) {
      expect(excerpt.length).toBeLessThan(200);
      // eslint-disable-next-line no-control-regex -- that there are none is the point
      expect(excerpt).not.toMatch(/[\x00-\x1f]/);
    }
    expect(findings.some(({ excerpt }) => excerpt.includes('\\u{1b}'))).toBe(true);
  });

  test('a flood of slight findings does not hide a grave one', async () => {
    const code = `${'print(open(n))\n'.repeat(1000)}__import__("shutil").rmtree("/")\n`;
    const { level, findings, omitted } = await shared.assess({ language: 'python', code });
    expect(level).toBe('CRITICAL');
    expect(findings).toHaveLength(200);
    expect(omitted).toBeGreaterThan(700);
  });

  test('a language that there is not, or code that is no text, is refused', async () => {
    const made = shared;
    await expect(made.assess({ language: 'cobol' as 'bash', code: '' })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(made.assess({ language: 'bash', code: 7 as unknown as string })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(made.assessCommand([])).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('assessing commands', () => {
  test.each([
    [['bash', '-lc', 'rm -rf /'], 'CRITICAL'],
    [['python', '-c', 'import os; os.system("rm -rf /")'], 'CRITICAL'],
    [['python3', '-c', 'print(1)'], 'SAFE'],
    [['ls', '-l'], 'SAFE'],
    [['rm', '-rf', '/'], 'CRITICAL'],
    [['env', 'X=1', 'sh', '-c', 'curl x | sh'], 'CRITICAL'],
    [['/workspace/work/tool'], 'MEDIUM'],
    [['/workspace/work/python', '-c', 'print(1)'], 'MEDIUM'],
    [['python', '/workspace/inputs/main.py'], 'MEDIUM'],
    [['bash', '-lc', '"$@"', '_', 'rm', '-rf', '/'], 'CRITICAL'],
    [['bash', '-lc', '"$@"', '_', 'ls', '-l'], 'SAFE'],
    [['bash', '-lc', '$1 -rf /', '_', 'rm'], 'CRITICAL'],
    [['bash', '-lc', '"$@"; shift; "$@"', '_', 'ls', 'rm', '-rf', '/'], 'HIGH'],
    [['bash', '-lc', 'eval "set -- $x"; "$@"', '_', 'ls'], 'HIGH'],
    [['bash', '-c', '-e', 'rm -rf /'], 'CRITICAL'],
  ] as const)('%j is %s', async (argv, level) => {
    expect((await shared.assessCommand(argv)).level).toBe(level);
  });

  test.each([
    [['python', '/workspace/inputs/main.py']],
    [['bash', '-lc', 'bash']],
    [['bash', '-lc', 'source ./env.sh']],
    [['bash', '-lc', './tool']],
    [['python', '-c', 'import mine']],
  ])('%j runs what was not seen: incomplete', async (argv) => {
    const { level, complete } = await shared.assessCommand(argv);
    expect({ level, complete }).toEqual({ level: 'MEDIUM', complete: false });
  });

  test('a script that is handed in is assessed, with its own lines', async () => {
    const files = new Map([['/workspace/inputs/main.py', 'print(1)\nopen("/etc/shadow")']]);
    const { findings } = await shared.assessCommand(['python', '/workspace/inputs/main.py', 'x'], {
      files,
    });
    expect(findings).toEqual([
      expect.objectContaining({ rule: 'files.read-credential', line: 2, column: 1 }),
    ]);
  });

  test('a program on stdin is assessed', async () => {
    for (const argv of [['bash'], ['bash', '-lc', 'bash'], ['bash', '-lc', 'cat | sh']]) {
      const { level } = await shared.assessCommand(argv, { stdin: 'rm -rf /' });
      expect(level).toBe('CRITICAL');
    }
    const files = new Map([['run.sh', 'exec "$1"']]);
    const { level } = await shared.assessCommand(['bash', 'run.sh', 'sh'], { files, stdin: 'rm -rf /' });
    expect(level).toBe('CRITICAL');
  });

  test('too much on stdin is data to most, and unseen code to an interpreter', async () => {
    const made = assessor({ maxBytes: 100 });
    const stdin = 'x'.repeat(101);
    expect(await made.assessCommand(['bash', '-lc', 'wc -c'], { stdin })).toMatchObject({ level: 'SAFE' });
    const { level, complete } = await made.assessCommand(['bash', '-lc', 'sh'], { stdin });
    expect({ level, complete }).toEqual({ level: 'MEDIUM', complete: false });
  });
});

describe('a thread that was just started', () => {
  const languages = ['python', 'bash', 'javascript'] as const;

  test('has its grammars and compiled code before the time of the first question counts', async () => {
    const made = assessor({ deadlineMs: 1000 });
    const answers = await Promise.all(languages.map((language) => made.assess({ language, code: 'x=1' })));
    expect(answers.map(({ complete }) => complete)).toEqual([true, true, true]);
    await made.ready();
  });

  test('says when it is ready, and then does not stop for the compiler', async () => {
    const made = assessor({ workers: 2 });
    await made.ready();
    // Without having been warmed up it stops for most of a second behind the first answers.
    const started = performance.now();
    for (const language of languages) await made.assess({ language, code: 'f(1)' });
    const first = performance.now() - started;
    expect(first).toBeLessThan(1000);
  });

  test('nobody waits for one that is closed', async () => {
    const made = assessor();
    const ready = made.ready();
    await made.close();
    await ready;
    await made.ready();
  });
});

describe('limits', () => {
  test('larger code is not looked at, and not SAFE', async () => {
    const made = assessor({ maxBytes: 10 });
    for (const code of ['print("more than ten")', 'ééééééé']) {
      const { level, findings, complete } = await made.assess({ language: 'python', code });
      expect({ level, complete, rules: rulesOf({ findings }) }).toEqual({
        level: 'MEDIUM',
        complete: false,
        rules: ['cannot-tell.too-large'],
      });
    }
  });

  test('past the deadline the thread is replaced, others wait on, and the event loop turns', async () => {
    const made = assessor({ deadlineMs: 400, waitMs: 60_000 });
    // The first answers are also those of a thread that is warm.
    for (let n = 0; n < 3; n += 1) await made.assess({ language: 'javascript', code: 'f(1)' });
    const before = performance.eventLoopUtilization();
    const hostile = made.assess(slow);
    const next = made.assess({ language: 'bash', code: 'rm -rf /' });
    // A busy machine delays both timers alike, and a loop calls them in turn whenever it does.
    const late = await Promise.race([hostile, sleep(400 + 50, 'later')]);
    const { active } = performance.eventLoopUtilization(before);
    expect(late).toMatchObject({ level: 'MEDIUM', complete: false });
    expect(rulesOf(await hostile)).toEqual(['cannot-tell.timeout']);
    // What the loop itself was busy with, however long others kept it from the processors while it had nothing to do.
    expect(active).toBeLessThan(200);
    // The second had to wait for a new thread; a busy machine may even take its deadline.
    expect(isAtLeast((await next).level, 'MEDIUM')).toBe(true);
    expect((await made.assess({ language: 'bash', code: 'echo hi' })).findings.length).toBeLessThanOrEqual(1);
  });

  test('nobody waits for a turn longer than is set, whatever others ask', async () => {
    const made = assessor({ deadlineMs: 60_000, waitMs: 200 });
    await made.ready();
    const started = performance.now();
    const hostile = Array.from({ length: 5 }, () => made.assess(slow));
    const turnedAway = await made.assess({ language: 'bash', code: 'echo hi' });
    expect(performance.now() - started).toBeLessThan(5_000);
    expect({ ...turnedAway, findings: rulesOf(turnedAway) }).toMatchObject({
      level: 'MEDIUM',
      complete: false,
      findings: ['cannot-tell.busy'],
    });
    // Those that never had their turn have been told as well.
    const busy = await Promise.all(hostile.slice(1));
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(busy.map(rulesOf)).toEqual(busy.map(() => ['cannot-tell.busy']));
  });

  test('when too many wait, the next is told so at once', async () => {
    const made = assessor({ maxWaiting: 2 });
    const asked = Array.from({ length: 10 }, () => made.assess({ language: 'python', code: 'print(1)' }));
    const answers = await Promise.all(asked);
    const levels = answers.map(({ level }) => level);
    expect(levels.filter((level) => level === 'SAFE')).toHaveLength(2);
    const busy = answers.filter(({ level }) => level === 'MEDIUM');
    expect(busy.map(rulesOf)).toEqual(Array.from({ length: 8 }, () => ['cannot-tell.busy']));
  });

  test('closed, it still answers, and not SAFE', async () => {
    const made = assessor();
    const waiting = made.assess({ language: 'python', code: 'print(1)' });
    await made.close();
    expect((await waiting).level).toBe('MEDIUM');
    expect((await made.assess({ language: 'python', code: 'print(1)' })).level).toBe('MEDIUM');
  });

  test.each([0, -1, 1.5, Number.NaN])('a deadline of %s is refused', (deadlineMs) => {
    expect(() => assessor({ deadlineMs })).toThrow(RangeError);
  });
});

describe('hostile code', () => {
  const nested = 300;
  test.each([
    ['a megabyte of parentheses', 'python', '('.repeat(1_000_000)],
    ['a megabyte of braces', 'bash', '${'.repeat(500_000)],
    ['one long line', 'javascript', `x=${'a+'.repeat(500_000)}a`],
    ['a hundred thousand lines', 'bash', 'echo hi\n'.repeat(100_000)],
    ['NUL bytes', 'python', '\0'.repeat(10_000)],
    ['NUL inside a word', 'bash', 'r\0m -rf /'],
    ['half characters', 'javascript', '"\uD800" + "\uDC00"; \uDFFF'],
    ['nested f-strings', 'python', `${'f"{'.repeat(nested)}1${'}"'.repeat(nested)}`],
    ['nested substitutions', 'bash', `${'$(echo '.repeat(nested)}x${')'.repeat(nested)}`],
    ['nested code', 'python', nestedExec(12)],
    ['names that define each other', 'python', 'a = b\nb = a\neval(a + b)'],
    ['functions that call each other', 'bash', 'f() { g "$@"; }\ng() { f "$@" /; rm -rf "$1"; }\nf x'],
    ['a text that doubles', 'python', `a = "x" * 9\n${'a = a + a\n'.repeat(200)}eval(a)`],
    [
      'a bomb of compression',
      'python',
      `import zlib, base64\nexec(zlib.decompress(base64.b64decode("${'A'.repeat(1000)}")))`,
    ],
    [
      'a thousand choices',
      'python',
      `${Array.from({ length: 1000 }, (_, n) => `x = "${n}"`).join('\n')}\neval(x + x + x + x)`,
    ],
  ] as const)('%s: answered, and not SAFE unless harmless', async (_, language, code) => {
    const made = robust;
    const { level } = await made.assess({ language, code });
    expect(isAtLeast(level, code.startsWith('echo hi') ? 'SAFE' : 'MEDIUM')).toBe(true);
    // It is alive afterwards.
    const { level: after } = await made.assess({ language: 'bash', code: 'rm -rf /' });
    expect(after).toBe('CRITICAL');
  });
});

function nestedExec(depth: number): string {
  let code = 'print(1)';
  for (let n = 0; n < depth && code.length < 60_000; n += 1) code = `exec(${JSON.stringify(code)})`;
  return code;
}
