import type { Histogram, Counter } from './metrics.js';

export interface TimedCallsOptions {
  readonly seconds: Histogram;
  readonly failures?: Counter;
  /** Which methods are told of; all that give promises unless it says no. */
  readonly only?: (method: string) => boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The same object, whose asynchronous methods are timed and their failures counted, by the method's name. */
export function timedCalls<T extends object>(target: T, options: TimedCallsOptions): T {
  const { seconds, failures, labels: common = {}, only = () => true } = options;
  return new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      const method = member.bind(target) as (...args: unknown[]) => unknown;
      if (typeof name === 'symbol' || !only(name)) return method;
      return (...args: unknown[]) => {
        const begun = performance.now();
        const result = method(...args);
        if (!(result instanceof Promise)) return result;
        const labels = { ...common, call: name };
        const done = () => seconds.observe((performance.now() - begun) / 1000, labels);
        result.then(done, () => {
          done();
          failures?.add(labels);
        });
        return result;
      };
    },
  });
}
