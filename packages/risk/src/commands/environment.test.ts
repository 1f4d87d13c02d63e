import { beforeAll, describe, expect, test } from '@jest/globals';
import type { RiskLevel } from '../level.js';
import { openRating } from '../testing/rate-script.js';
import { decidesWhatRuns } from './environment.js';

let rate: (script: string) => RiskLevel;

beforeAll(async () => {
  rate = await openRating();
});

describe('a variable that decides what runs', () => {
  test.each([
    'HOME=/workspace/work python main.py',
    'export HOME=.',
    'XDG_CONFIG_HOME=. git status',
    'export GIT_DIR=x',
    'GIT_CONFIG_COUNT=1',
    'PYTHONUSERBASE=.',
    'PYTHONWARNINGS=ignore::mine.Category',
    'export PYTHONPATH=.',
    'BASH_CMDS[ls]=./x; ls',
    `BASH_ALIASES[ls]='./x'`,
    'LD_DEBUG_OUTPUT=x',
    'export npm_config_script_shell=./x',
    'env HOME=. ls',
    'declare -x "HOME=."',
    'builtin export HOME=.',
    'for HOME in a b; do ls; done',
    'read -r HOME <<< .',
    'printf -v HOME .',
    `printf -v'HOME' .`,
    ': "${HOME:=.}"',
    'declare -n x=HOME; x=.',
    'PYTHONIOENCODING=utf-7',
    'SHELL=./x',
  ])('is seen where %s sets it', (script) => {
    expect(rate(script)).toBe('HIGH');
  });

  test.each([
    'FOO=1 echo hi',
    'export PYTHONUNBUFFERED=1',
    `PYTHONDONTWRITEBYTECODE=1 python -c 'print(1)'`,
    'export PYTHONIOENCODING=utf-8',
    'PATH=/usr/bin:$PATH',
    'SHELL=/bin/bash',
    `PYTHON=python3; $PYTHON -c 'print(1)'`,
    `PYTHON_VERSION=3.12 NODE_ENV=test echo hi`,
    'GIT_COMMIT=abc GIT_AUTHOR_NAME=me',
    'LESSON=1 OUTPATH=out OPTS=-l IFS=,',
    'LC_ALL=C TZ=UTC date',
    'printf %s HOME',
    'echo "$HOME" "${PATH:-x}"',
    ': "${FOO:=1}"',
    'declare -n x=total',
    'export PATH HOME',
  ])('is not set by %s', (script) => {
    expect(rate(script)).toBe('SAFE');
  });

  test('a PATH with other folders is HIGH', () => {
    expect(rate('PATH=./bin:$PATH')).toBe('HIGH');
  });
});

describe('what keeps python from loading what lies in its folder', () => {
  test.each([
    `PYTHONSAFEPATH= python -c 'import json'`,
    'export PYTHONSAFEPATH=',
    'unset PYTHONSAFEPATH',
    'unset -v "PYTHONSAFEPATH"',
    'unset "$name"',
    'export -n PYTHONSAFEPATH',
    'declare +x PYTHONSAFEPATH',
    'command unset PYTHONSAFEPATH',
    `env -u PYTHONSAFEPATH python -c 'import json'`,
    `env -uPYTHONSAFEPATH python -c 'import json'`,
    `env --unset=PYTHONSAFEPATH python -c 'import json'`,
    `env -i python -c 'import json'`,
    `env -vi python -c 'import json'`,
    `env --ignore-env python -c 'import json'`,
    `exec -c python -c 'import json'`,
  ])('is taken away by %s', (script) => {
    expect(rate(script)).toBe('HIGH');
  });

  test('env - is at least not known', () => {
    expect(rate(`env - python -c 'import json'`)).toBe('MEDIUM');
  });

  test.each([
    `PYTHONSAFEPATH=1 python -c 'import json'`,
    'unset FOO',
    `unset 'list[1]'`,
    'for name in A B; do unset "$name"; done',
    'env -u FOO echo hi',
    'env FOO=1 echo hi',
    'exec -a name echo hi',
  ])('is left by %s', (script) => {
    expect(rate(script)).toBe('SAFE');
  });
});

describe('decidesWhatRuns', () => {
  test.each([
    ...['HOME', 'PATH', 'SHELL', 'IFS', 'ENV', 'BASH_ENV', 'BASH_FUNC_ls%%', 'LD_PRELOAD', 'GCONV_PATH'],
    ...['PYTHONPATH', 'PYTHONSTARTUP', 'PYTHONSAFEPATH', 'NODE_OPTIONS', 'PERL5LIB', 'RUBYOPT', 'LESSOPEN'],
    ...['XDG_CONFIG_HOME', 'GIT_SSH_COMMAND', 'PIP_INDEX_URL', 'npm_config_script_shell', 'LUA_INIT'],
    ...['CLASSPATH', 'JAVA_TOOL_OPTIONS', 'MAKEFLAGS', 'SUDO_EDITOR', 'MANPAGER', 'GRADLE_OPTS'],
  ])('%s does', (name) => {
    expect(decidesWhatRuns(name)).toBe(true);
  });

  test.each(['TOKEN', 'LANG', 'TZ', 'PYTHONUNBUFFERED', 'NODE_ENV', 'GIT_AUTHOR_NAME', 'LESSON', 'DATA_DIR'])(
    '%s does not',
    (name) => {
      expect(decidesWhatRuns(name)).toBe(false);
    },
  );
});
