import { setImmediate as breath } from 'node:timers/promises';
import { assessCode } from '../assess-code.js';
import { rules } from '../rules/catalogue.js';
import type { Rule } from '../rules/rule.js';
import type { Parse } from '../syntax/parse.js';

/** More make nothing faster. */
const turns = 8;

/**
 * Assesses the examples of all rules, again and again, until what they run is compiled. A thread waits for the compiler
 * when it comes back to its event loop, the first time for most of a second: that is over when this is, so that it is
 * on nobody's time.
 */
export async function warmUp(parse: Parse): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    for (const { example } of Object.values<Rule>(rules)) {
      if (!example) continue;
      assessCode(parse, example.language, example.finds);
      assessCode(parse, example.language, example.passes);
    }
    await breath();
  }
}
