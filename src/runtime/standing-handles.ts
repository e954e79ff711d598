// Owns: the ways out of an installation between its calls: a program that serves many calls is started for none of them.
// Refuses: changes to files, and whatever policy does not simply allow: nobody waits for an answer here.
import type { CallHandles } from '../contract/adapter.ts';
import type { CallScope } from '../contract/capability.ts';
import { fail } from '../contract/errors.ts';
import type { Installation } from '../contract/manifest.ts';
import type { PolicyEngine } from '../contract/policy.ts';
import { type Program, type ProgramHandle, programEffects } from '../contract/program.ts';
import type { RuntimeParts } from '../contract/runtime.ts';
import { policyOf } from './context.ts';

type Parts = Pick<RuntimeParts, 'root' | 'objects' | 'capabilities' | 'events'>;

/** Policy is asked anew for every access: it may be another one by then. */
export function standingHandles(
  parts: Parts,
  host: () => PolicyEngine,
  place: CallScope['place'],
  { name }: Installation,
): CallHandles {
  const never = new AbortController().signal;
  const scope: CallScope = {
    callId: `pack_${name}`,
    signal: never,
    undo: { keep: false, maxBytes: 0 },
    warn: ({ reason, message }) =>
      parts.events.emit({
        type: 'EventMessage',
        event: 'PackWarning',
        data: { pack: name, reason, message },
      }),
    root: parts.root,
    get extraRoots() {
      return host().loaded.resolved?.extraRoots ?? [];
    },
    objects: parts.objects,
    intend: () =>
      Promise.reject(fail('policy.undeclared', `Cannot change files: "${name}" is not being called`)),
    place,
    get policy() {
      return policyOf(host(), name);
    },
    privateHost: (target) => host().allowsPrivate(target),
    admit(effect, actual = effect) {
      const decision = host().decideEffect(name, actual);
      if (decision.verdict === 'allow') return;
      throw fail(decision.reason ?? 'policy.denied', decision.message, {
        rule: decision.rule,
        ...(decision.admit ? { admit: decision.admit } : {}),
      });
    },
    get visible() {
      return host().sees(name);
    },
  };
  return {
    get exec() {
      const exec = parts.capabilities.exec(scope);
      // What it needs is asked at once when it is started: no call has waited for the policy before.
      const ready = async (program: Program) => host().ready?.(programEffects(program, place));
      const asked: Pick<ProgramHandle, 'run' | 'start' | 'profile'> = {
        run: async (program, how) => ready(program).then(() => exec.run(program, how)),
        start: async (program, heard, said) => ready(program).then(() => exec.start(program, heard, said)),
        profile: async (program) => ready(program).then(() => exec.profile(program)),
      };
      return { ...exec, ...asked };
    },
    get http() {
      return parts.capabilities.http(scope);
    },
  };
}
