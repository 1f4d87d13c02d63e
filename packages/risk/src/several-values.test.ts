import { beforeAll, describe, expect, test } from '@jest/globals';
import { assessCode } from './assess-code.js';
import type { AssessedLanguage } from './language.js';
import type { RiskLevel } from './level.js';
import { loadParses } from './syntax/parse.js';

let rate: (language: AssessedLanguage, code: string) => RiskLevel;

beforeAll(async () => {
  const { parse } = await loadParses();
  rate = (language, code) => assessCode(parse, language, code).level;
});

/** Seventeen harmless values of a name, one more than are told apart. */
const many = (write: (n: number) => string) => Array.from({ length: 17 }, (_, n) => write(n)).join('\n');

describe('a name counts as everything it is anywhere', () => {
  test.each([
    ['n = "getcwd"\nn = "system"\nimport os\ngetattr(os, n)("rm -rf /")', 'CRITICAL'],
    ['p = "a.csv"\np = "/etc/shadow"\nopen(p)', 'HIGH'],
    ['p = "/etc/shadow"\nopen(p)\np += "/../../workspace/x"', 'HIGH'],
    ['p = "a"\np = "/etc/shadow"\nopen(f"{p}")', 'HIGH'],
    ['p = "a"\np = "/etc/shadow"\nimport subprocess\nsubprocess.run(["cat", p])', 'HIGH'],
    ['p = "a"\np = "/etc/shadow"\nopen({"f": p}["f"])', 'HIGH'],
    ['k = "a"\nk = "b"\nopen({"a": "x.csv", "b": "/etc/shadow"}[k])', 'HIGH'],
    ['x = y.z = "/etc/shadow"\nopen(x)', 'HIGH'],
    [
      'import os\nfor a in ["rm", "ls", "echo"]:\n  for b in [" x", " -rf /", " y"]: os.system(a + b)',
      'CRITICAL',
    ],
    [`${many((n) => `n = "n${n}"`)}\nn = "execlp"\nimport os\ngetattr(os, n)("sh", "sh")`, 'HIGH'],
  ] as const)('python: %j is %s', (code, level) => {
    expect(rate('python', code)).toBe(level);
  });

  test.each([
    [`let m = 'path'; m = 'child_process'; require(m).exec('rm -rf /')`, 'CRITICAL'],
    [`let m = 'path'; m = 'child_process'; require(\`\${m}\`).exec('rm -rf /')`, 'CRITICAL'],
    [`let k = 'a'; k = 'b'; require('fs').readFileSync({ a: 'x', b: '/etc/shadow' }[k])`, 'HIGH'],
    [`let p = 'a'; p = '/etc/shadow'; require('fs').readFileSync([p][0])`, 'HIGH'],
    [`let p = '/etc/shadow'; require('fs').readFileSync(p); p += '/../../workspace/x'`, 'HIGH'],
    [`${many((n) => `m = 'm${n}';`)} m = 'child_process'; require(m).exec('rm -rf /')`, 'HIGH'],
  ] as const)('javascript: %j is %s', (code, level) => {
    expect(rate('javascript', code)).toBe(level);
  });

  test.each([
    [`x='echo hi'; x='rm -rf /'; sh <<< "$x"`, 'CRITICAL'],
    [`x='echo hi'; x='rm -rf /'; sh <<EOF\n$x\nEOF`, 'CRITICAL'],
    ['x=a; x=/etc/passwd; echo hi > $x', 'HIGH'],
    [`x=a; x=/etc/shadow; cat "\${y:-$x}"`, 'HIGH'],
    [`x=rm; x=ls; y=-l; y='-rf /'; $x $y`, 'CRITICAL'],
    [`a=(echo rm); \${a[1]} -rf /`, 'CRITICAL'],
    [`a=(echo); a[0]=rm; \${a[0]} -rf /`, 'CRITICAL'],
    [`declare -A m; m[x]=rm; \${m[x]} -rf /`, 'CRITICAL'],
    [`a[0]=rm; a[1]=-rf; a[2]=/; "\${a[@]}"`, 'HIGH'],
    [`cmd=(rm); cmd+=(-rf /); "\${cmd[@]}"`, 'CRITICAL'],
    [`x=; : \${x:='rm -rf /'}; $x`, 'CRITICAL'],
    ['x=echo; eval "x=rm"; $x -rf /', 'HIGH'],
    [`x=echo; \\read x <<< 'rm -rf /'; $x`, 'HIGH'],
    [`x=echo; r=read; $r x <<< 'rm -rf /'; $x`, 'HIGH'],
    [`x=echo; y=x; declare $y='rm -rf /'; $x`, 'HIGH'],
    ['x=echo; builtin declare x=rm; $x -rf /', 'HIGH'],
    ['rm -rf /; rm() { :; }', 'CRITICAL'],
    [`IFS='rm -rf /'; eval "$IFS"`, 'CRITICAL'],
    [`PWD='rm -rf /'; eval "$PWD"`, 'CRITICAL'],
    [`IFS=,; x='a,/etc/shadow'; cat $x`, 'HIGH'],
    [`${many((n) => `c=echo${n}`)}; c=rm; $c -rf /`, 'HIGH'],
    [`for c in {${many((n) => `echo${n},`).replaceAll('\n', '')}rm}; do $c -rf /; done`, 'HIGH'],
  ] as const)('bash: %j is %s', (code, level) => {
    expect(rate('bash', code)).toBe(level);
  });
});

describe('what is put together in a way that is not followed is not known', () => {
  test.each([
    ['python', 'open("%.0s/etc/shadow" % "a")', 'HIGH'],
    ['python', `open(f"{'a.csv':.0}/etc/shadow")`, 'HIGH'],
    ['python', 'open("{:.0}/etc/shadow".format("a"))', 'HIGH'],
    ['python', `open("\u6320".encode("utf-16le").decode())`, 'LOW'],
    ['bash', `printf '%.1s%s' 'echo ' 'val "rm -rf /"' | sh`, 'HIGH'],
    ['bash', `printf '%c%s' echo 'val "rm -rf /"' | sh`, 'HIGH'],
    ['bash', String.raw`echo -e 'echo \0073rm -rf /' | sh`, 'CRITICAL'],
    ['bash', String.raw`cat "$(echo -e '/etc/shadow\c/../../workspace/x')"`, 'LOW'],
    ['bash', `echo ": 'a''; rm -rf /; ''b'" | tr -s "'" | sh`, 'HIGH'],
    ['bash', `echo 'hi ohce' | rev evil.txt | sh`, 'HIGH'],
    ['bash', `: 'rm -rf /'; eval "$_"`, 'HIGH'],
    ['bash', `x='_: rm -rf /'; \${x:$((1 + 2))}`, 'HIGH'],
    ['bash', `x='_: rm -rf /'; y=abc; \${x:\${#y}}`, 'CRITICAL'],
  ] as const)('%s: %j is %s', (language, code, level) => {
    expect(rate(language, code)).toBe(level);
  });
});

describe('a script that goes elsewhere', () => {
  test.each([
    ['cd /etc && cat shadow', 'HIGH'],
    ['cd /etc; echo x > passwd', 'HIGH'],
    ['cd /etc; cat < shadow', 'HIGH'],
    [`cd /etc; bash -c 'cat shadow'`, 'HIGH'],
    [`cd /etc; python3 -c 'open("shadow")'`, 'HIGH'],
    ['command cd ~/.ssh; cat id_rsa', 'HIGH'],
    [`eval 'cd /etc'; cat shadow`, 'HIGH'],
    ['env -C /etc cat shadow', 'HIGH'],
    ['env --chdir=/etc cat shadow', 'HIGH'],
    ['cd src && cat a.txt; cd -; cat b.txt', 'SAFE'],
    ['cd src && cat a.txt; cd ..; cat b.txt', 'SAFE'],
  ] as const)('%j is %s', (code, level) => {
    expect(rate('bash', code)).toBe(level);
  });
});

describe('what xargs reads', () => {
  test.each([
    [`echo 'rm -rf /' | xargs -I{} sh -c '{}'`, 'CRITICAL'],
    [`echo 'rm -rf /' | xargs -I X sh -c X`, 'CRITICAL'],
    [`echo 'rm -rf /' | xargs --replace sh -c '{}'`, 'CRITICAL'],
    [`printf 'rm -rf /' | xargs -0 sh -c`, 'CRITICAL'],
    [String.raw`echo 'rm -rf /' | xargs -d '\n' sh -c`, 'CRITICAL'],
    [`printf 'echo\nrm -rf /\n' | xargs -L1 env`, 'CRITICAL'],
    [`echo "'rm -rf /'" | xargs sh -c`, 'HIGH'],
    [`echo 'rm -rf /' | xargs -a list sh -c`, 'HIGH'],
    ['ls | xargs', 'SAFE'],
    ['echo a b | xargs -n1 echo', 'SAFE'],
  ] as const)('%j is %s', (code, level) => {
    expect(rate('bash', code)).toBe(level);
  });
});

describe('modules that are handed on', () => {
  test.each([
    ['python', 'import subprocess\ndef m(): return subprocess\nm().run("rm", shell=True)', 'MEDIUM'],
    ['python', 'import subprocess\nd = {}\nd[(1,)] = subprocess\nd[(1,)].run("rm", shell=True)', 'MEDIUM'],
    ['python', 'import os\nclass A: pass\nA.x = os\nA.x.execlp("rm", "rm", "-rf", "/")', 'CRITICAL'],
    ['python', 'class A:\n  import os as o\nA.o.execlp("rm", "rm", "-rf", "/")', 'CRITICAL'],
    ['python', 'import os\ndict(vars(os))["system"]("rm -rf /")', 'CRITICAL'],
    ['python', 'import os\n{**vars(os)}["system"]("rm -rf /")', 'CRITICAL'],
    ['python', 'import os\nos.__dict__.copy()["system"]("rm -rf /")', 'HIGH'],
    ['python', 'list(map(open, ["/etc/shadow"]))', 'MEDIUM'],
    ['python', 'import pkgutil\npkgutil.resolve_name("os:system")("rm -rf /")', 'CRITICAL'],
    ['python', 'import asyncio\nasyncio.get_event_loop().subprocess_shell(p, "rm -rf /")', 'HIGH'],
    ['python', 'from pathlib import Path\nPath.read_text(Path("/etc/shadow"))', 'HIGH'],
    ['python', 'import os\nprint(hasattr(os, "fork"))', 'SAFE'],
    ['python', 'import os\nclass A: pass\nA.x = os\ngetattr(A, "x").execlp("rm", "rm")', 'MEDIUM'],
    ['python', 'import os\ngetattr(os, "sys" + str(True)[0].lower() + "em")("rm -rf /")', 'CRITICAL'],
    ['python', 'import os\n{1: print, True: os.system}[1]("rm -rf /")', 'CRITICAL'],
    ['javascript', `const o = {}; o.c = require('child_process'); o['c'].exec('rm')`, 'MEDIUM'],
    ['javascript', `class A { c = require('child_process') }; new A()['c'].exec('rm')`, 'MEDIUM'],
    ['javascript', `Object.assign(require, {})('child_process').exec('rm -rf /')`, 'CRITICAL'],
    ['javascript', `({ ...require('child_process') }).execSync('rm -rf /')`, 'CRITICAL'],
    ['javascript', `Object.assign({}, require('child_process')).execSync('rm -rf /')`, 'CRITICAL'],
    ['javascript', `const o = {}; o.c = require('child_process'); o.c.exec('rm -rf /')`, 'CRITICAL'],
    ['javascript', `class A { c = require('child_process') }; new A().c.exec('rm -rf /')`, 'CRITICAL'],
    ['javascript', `[].filter.constructor('return 1')()`, 'HIGH'],
    ['javascript', `((c) => c.exec('rm -rf /'))(require('child_process'))`, 'MEDIUM'],
    ['javascript', `Object.values(require('child_process'))[1]('rm -rf /')`, 'MEDIUM'],
    ['javascript', 'if (require.main === module) console.log(1)', 'SAFE'],
  ] as const)('%s: %j is %s', (language, code, level) => {
    expect(rate(language, code)).toBe(level);
  });
});

describe('many values in few words', () => {
  const chain = (first: string, next: (before: string) => string) =>
    [`a0 = ${first}`, ...Array.from({ length: 40 }, (_, n) => `a${n + 1} = ${next(`a${n}`)}`)].join('\n');
  const python = 'import os\nos.system("rm -rf /")';
  const javascript = `require('child_process').exec('rm -rf /')`;
  const names = Array.from({ length: 4096 }, (_, n) => `'a${n}'`).join();

  test.each([
    ['python', `${chain('{"x": 1}', (a) => `{**${a}, **${a}}`)}\nprint(a40["x"])\n${python}`],
    ['python', `${chain('{"x": 1}', (a) => `dict(${a}, **${a})`)}\nprint(a40["x"])\n${python}`],
    ['python', `import os\n${chain('{"x": os}', (a) => `{**${a}, **${a}}`)}\na40["x"].system("rm -rf /")`],
    ['python', `${chain('[1, 2]', (a) => `[*${a}, *${a}]`)}\nprint(a40)\n${python}`],
    [
      'python',
      `${chain('["a"]', (a) => `[${a}, ${a}]`)}\nimport logging.config\nlogging.config.dictConfig(a40)\n${python}`,
    ],
    ['javascript', `${chain('{ x: 1 }', (a) => `({ ...${a}, ...${a} })`)}\na40.x\n${javascript}`],
    ['javascript', `${chain('{ x: 1 }', (a) => `Object.assign(${a}, ${a})`)}\na40.x\n${javascript}`],
    ['javascript', `${chain('[1, 2]', (a) => `[...${a}, ...${a}]`)}\na40[0]\n${javascript}`],
    ['javascript', `${chain('[1, 2]', (a) => `[${a}, ${a}]`)}\nString(a40)\n${javascript}`],
    ['javascript', `Function(${names}, "${javascript}")()`],
  ] as const)('%s: %j is CRITICAL', (language, code) => {
    expect(rate(language, code)).toBe('CRITICAL');
  });
});

describe('methods that could be those of a path', () => {
  test.each([
    ['def f(p): p.unlink()', 'MEDIUM'],
    ['class Node:\n  def unlink(self): pass\ndef f(node): node.unlink()', 'SAFE'],
    ['def f(x): x.constructor()', 'SAFE'],
  ] as const)('%j is %s', (code, level) => {
    expect(rate('python', code)).toBe(level);
  });
});

describe('where modules come from', () => {
  test.each([
    ['sys.path[:0] = ["/workspace/work"]', 'HIGH'],
    ['sys.path += ["/workspace/work"]', 'HIGH'],
    ['sys.path = ["/workspace/work"]', 'HIGH'],
    ['sys.path.extend(["/workspace/work"])', 'HIGH'],
    ['p = sys.path\np.insert(0, "/workspace/work")', 'HIGH'],
    ['del sys.path[0]', 'HIGH'],
    ['sys.modules["calendar"] = 1', 'HIGH'],
    ['print(sys.path)', 'SAFE'],
  ] as const)('%j is %s', (code, level) => {
    expect(rate('python', `import sys\n${code}\nimport calendar`)).toBe(level);
  });
});

describe('a configuration of logging', () => {
  test.each([
    ['{"handlers": {"h": {"()": "os.system"}}}', 'HIGH'],
    ['{"handlers": {"h": {"class": "subprocess.Popen"}}}', 'HIGH'],
    ['{"handlers": {"h": {"stream": "ext://os.system"}}}', 'HIGH'],
    ['settings', 'HIGH'],
    ['{"handlers": {"h": {"class": "logging.StreamHandler", "stream": "ext://sys.stderr"}}}', 'SAFE'],
  ] as const)('%s is %s', (code, level) => {
    expect(rate('python', `import logging.config\nlogging.config.dictConfig(${code})`)).toBe(level);
  });
});
