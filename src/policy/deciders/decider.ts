// Owns: what a decider is: for one kind of effect, everything that the policy has to say about it.
// Refuses: picking the strictest; that is finding.ts.
import type { EffectKind, EffectShapes } from '../../contract/effect.ts';
import type { CompiledPolicy } from '../compile-policy.ts';
import type { Finding } from '../finding.ts';

/** Answers at least one finding. Pure, and fast: it stands in the way of every call. */
export type Decider<K extends EffectKind> = (
  effect: EffectShapes[K],
  policy: CompiledPolicy,
) => readonly Finding[];
