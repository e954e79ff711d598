// Owns: the `ctx` of a running tool: its handles, made on first use, each bound to this one call.
// Refuses: an access that the call did not declare or that policy does not allow.
import type {
  CallScope,
  CapabilityFactories,
  Change,
  ScopePolicy,
  ToolContext,
} from '../contract/capability.ts';
import { covers, describeEffect, type Effect } from '../contract/effect.ts';
import type { Warning } from '../contract/envelope.ts';
import { fail } from '../contract/errors.ts';
import type { PolicyEngine, PolicyFile } from '../contract/policy.ts';
import type { RunTicket } from '../contract/runs.ts';
import type { RuntimeParts } from '../contract/runtime.ts';
import type { Deadline } from './deadline.ts';
import { type CallHistories, historyFor } from './history.ts';
import type { RunsHandleMaker } from './runs/runs-handle.ts';
import { createSpills } from './spills.ts';

/** What a context needs to know of its call. */
export interface ContextCall {
  readonly callId: string;
  readonly requestId: string;
  readonly sessionId: string;
  readonly tool: string;
  readonly effects: readonly Effect[];
  readonly engine: PolicyEngine;
  /** An approval was used up for this call, so `ask` is answered. */
  readonly approved: boolean;
  readonly deadline: Pick<Deadline, 'signal'>;
  readonly undo: CallScope['undo'];
  readonly place: CallScope['place'];
  intend(changes: readonly Change[]): Promise<void>;
  progress: ToolContext['progress'];
  output: ToolContext['output'];
  testify: ToolContext['testify'];
  warn(warning: Warning): void;
  show: ToolContext['show'];
  readonly run?: RunTicket | undefined;
  readonly locked?: CallScope['locked'];
}

export type ContextMaker = (call: ContextCall) => ToolContext;

type Parts = Pick<RuntimeParts, 'root' | 'objects' | 'store' | 'clock' | 'capabilities'>;

/** Makes the class of contexts once for a runtime: one lazy getter a capability. */
export function createContextMaker(
  parts: Parts,
  histories: CallHistories,
  runsFor: RunsHandleMaker,
): ContextMaker {
  class Context {
    readonly #call: ContextCall;
    #scope: CallScope | undefined;
    constructor(call: ContextCall) {
      this.#call = call;
    }
    get scope(): CallScope {
      this.#scope ??= scopeOf(parts, this.#call);
      return this.#scope;
    }
    get callId() {
      return this.#call.callId;
    }
    get requestId() {
      return this.#call.requestId;
    }
    get sessionId() {
      return this.#call.sessionId;
    }
    get signal() {
      return this.#call.deadline.signal;
    }
    get progress() {
      return this.#call.progress;
    }
    get output() {
      return this.#call.output;
    }
    get testify() {
      return this.#call.testify;
    }
    get warn() {
      return this.#call.warn;
    }
    get show() {
      return this.#call.show;
    }
    get run() {
      return this.#call.run;
    }
    get history() {
      return historyFor(histories, this.scope);
    }
    get runs() {
      return runsFor(this.scope, this.#call);
    }
    now() {
      return parts.clock.now();
    }
    intend() {
      return this.#call.intend([]);
    }
  }
  for (const name of Object.keys(parts.capabilities) as (keyof CapabilityFactories)[]) {
    Object.defineProperty(Context.prototype, name, {
      get(this: Context) {
        const handle = parts.capabilities[name](this.scope);
        Object.defineProperty(this, name, { value: handle });
        return handle;
      },
    });
  }
  return (call) => new Context(call) as unknown as ToolContext;
}

function scopeOf(parts: Parts, call: ContextCall): CallScope {
  const { callId, undo, warn, engine, tool } = call;
  return {
    callId,
    get signal() {
      return call.deadline.signal;
    },
    undo,
    warn,
    root: parts.root,
    extraRoots: engine.loaded.resolved?.extraRoots ?? [],
    objects: parts.objects,
    get spills() {
      return createSpills(parts);
    },
    intend: call.intend,
    place: call.place,
    locked: call.locked,
    get policy() {
      return policyOf(engine, tool);
    },
    privateHost: (target) => engine.allowsPrivate(target),
    admit(effect, actual = effect) {
      const declared = call.effects.find((one) => covers(one, effect));
      if (!declared) {
        const touched = describeEffect(effect);
        throw fail('policy.undeclared', `Cannot ${touched}: "${tool}" did not declare it before it ran`);
      }
      // A declared effect was decided before the call ran; what lies below a tree or behind a link was not.
      if (actual === declared || (actual === effect && same(declared, effect))) return;
      const decision = engine.decideEffect(tool, actual);
      if (decision.verdict === 'allow' || (decision.verdict === 'ask' && call.approved)) return;
      // Approval is asked for what a call declares, before it runs: here it is too late, and nothing waits for an answer.
      const isAsk = decision.verdict === 'ask';
      const message = isAsk
        ? `${decision.message}; name that path itself, so that it can be asked for`
        : decision.message;
      throw fail(isAsk ? 'policy.denied' : (decision.reason ?? 'policy.denied'), message, {
        rule: decision.rule,
        ...(decision.admit ? { admit: decision.admit } : {}),
      });
    },
    get visible() {
      return engine.sees(tool);
    },
  };
}

export function policyOf(engine: PolicyEngine, tool: string): ScopePolicy {
  const { file } = engine.loaded;
  return {
    fences: engine.fences(tool),
    programs: programsOf(file.shell_allow ?? []),
    packs: (file.packs ?? []).filter((pack) => typeof pack === 'string'),
    sandboxOptional: file.sandbox === 'optional',
  };
}

/** The first word of each pattern that begins with one: `^cargo(\\s|$)` is about cargo. */
function programsOf(rules: NonNullable<PolicyFile['shell_allow']>): readonly string[] {
  const names = rules.flatMap((rule) => {
    const pattern = typeof rule === 'string' ? rule : rule.pattern;
    const group = /^\^\(([A-Za-z0-9_.+|-]+)\)/.exec(pattern)?.[1];
    const word = /^\^([A-Za-z0-9_.+-]+)/.exec(pattern)?.[1];
    return group ? group.split('|') : word ? [word] : [];
  });
  return [...new Set(names)];
}

const same = (a: Effect, b: Effect) =>
  'path' in a && 'path' in b ? a.path === b.path : a.kind === 'net.connect' && a.host !== '*';
