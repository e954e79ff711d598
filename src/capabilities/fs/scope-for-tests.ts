// Owns: a call's scope for the tests of this folder: admits everything but what a test denies, and notes what is asked.
// Refuses: to be policy; whether effects were declared is the runtime's to check.
import type { CallScope, Change } from '../../contract/capability.ts';
import { NO_FENCES } from '../../contract/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import type { Warning } from '../../contract/envelope.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectStore } from '../../contract/object-store.ts';

export interface TestScope extends CallScope {
  readonly admitted: Effect[];
  readonly intents: (readonly Change[])[];
  readonly warnings: Warning[];
}

export interface TestScopeOptions
  extends Partial<Pick<CallScope, 'extraRoots' | 'signal' | 'undo' | 'intend'>> {
  /** Of the place that is really touched. */
  denies?(effect: Effect): boolean;
}

export function createTestScope(
  root: string,
  objects: ObjectStore,
  options: TestScopeOptions = {},
): TestScope {
  const { denies = () => false, intend, ...rest } = options;
  const admitted: Effect[] = [];
  const intents: (readonly Change[])[] = [];
  const warnings: Warning[] = [];
  return {
    callId: 'call_test',
    root,
    extraRoots: [],
    signal: new AbortController().signal,
    objects,
    undo: { keep: true, maxBytes: 64 * 1024 * 1024 },
    admitted,
    intents,
    warnings,
    admit(effect, actual = effect) {
      admitted.push(actual);
      if (denies(effect) || denies(actual))
        throw fail('policy.denied', 'Cannot touch it: the test denies it');
    },
    place: (path) => path,
    policy: NO_FENCES,
    visible: (path) => !denies({ kind: 'fs.read', path }),
    async intend(changes) {
      intents.push(structuredClone(changes));
      await intend?.(changes);
    },
    warn: (warning) => void warnings.push(warning),
    ...rest,
  };
}
