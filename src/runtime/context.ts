// Owns: the handles of a running tool, made on first use and bound to its call, and those of an installation between its calls.
// Refuses: an access that the call did not declare or that policy does not allow; between calls, whatever is not simply allowed.

import type { CallHandles } from '../contract/adapter.ts';
import type {
  CallHistory,
  CallScope,
  CapabilityFactories,
  HistoryHandle,
  ScopePolicy,
  ToolContext,
} from '../contract/capability.ts';
import { covers, describeEffect, type Effect } from '../contract/effect.ts';
import type { EventMessage } from '../contract/envelope.ts';
import { type Failure, fail } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Installation } from '../contract/manifest.ts';
import {
  type Fence,
  MOST_SHELLS,
  POLICY_DEFAULTS,
  type PolicyEngine,
  type PolicyFile,
} from '../contract/policy.ts';
import { compilePathGlob } from '../contract/policy-match.ts';
import { type Program, type ProgramHandle, programEffects } from '../contract/program.ts';
import type { RunTicket } from '../contract/runs.ts';
import type { RuntimeParts } from '../contract/runtime.ts';
import type { Standing } from '../contract/shells.ts';
import type { Store } from '../contract/store.ts';
import { renderGrant } from '../policy/grant.ts';
import type { Deadline } from './limits.ts';
import type { HeldLocks } from './locks.ts';
import { type CallRecord, writeIntent } from './record.ts';
import type { RunsHandleMaker } from './runs/runs-handle.ts';
import { createSpills } from './spills.ts';

/** What a context needs to know of its call. */
interface ContextCall
  extends Pick<
      ToolContext,
      'callId' | 'requestId' | 'sessionId' | 'progress' | 'output' | 'testify' | 'show'
    >,
    Pick<CallScope, 'undo' | 'place' | 'locked' | 'intend' | 'warn' | 'standing'> {
  readonly tool: string;
  readonly effects: readonly Effect[];
  readonly engine: PolicyEngine;
  /** An approval was used up for this call, so `ask` is answered. */
  readonly approved: boolean;
  readonly deadline: Pick<Deadline, 'signal'>;
  readonly run?: RunTicket | undefined;
}

export type ContextMaker = (call: ContextCall) => ToolContext;

export interface Execution {
  readonly engine: PolicyEngine;
  readonly approved: boolean;
  readonly deadline: Deadline;
  readonly ticket?: RunTicket | undefined;
  /** The process stays when the call is answered. */
  readonly lasts?: boolean;
  readonly locked?: HeldLocks['locked'] | undefined;
  /** What this context may touch, where that is not what the call declared. */
  readonly effects?: readonly Effect[];
  emit(event: EventMessage): void;
}

interface ContextSite {
  readonly parts: RuntimeParts;
  readonly effectSite: Pick<CallScope, 'place'>;
  readonly makeContext: ContextMaker;
  standing(record: CallRecord, engine: PolicyEngine, stop: (why: Failure) => void): Promise<Standing>;
}

/** The context of this call; its handles re-check every access against the declared effects and policy. */
export function contextFor(
  site: ContextSite,
  record: CallRecord,
  args: JsonObject,
  how: Execution,
): ToolContext {
  const { engine, approved, emit, effects = record.effects } = how;
  const { deadline } = how;
  const ids = { request_id: record.requestId, session_id: record.session };
  return site.makeContext({
    callId: record.callId,
    requestId: record.requestId,
    sessionId: record.session,
    tool: record.tool,
    effects,
    engine,
    approved,
    deadline,
    undo: {
      keep: args.no_undo !== true,
      maxBytes: engine.loaded.file.undo?.max_bytes ?? POLICY_DEFAULTS.undo.max_bytes,
    },
    intend(changes) {
      deadline.signal.throwIfAborted();
      return writeIntent(site.parts, record, changes);
    },
    progress: (progress) => emit({ type: 'EventMessage', event: 'TaskProgress', ...ids, progress }),
    output: (stream, text) =>
      emit({ type: 'EventMessage', event: 'TaskOutput', ...ids, data: { stream, text } }),
    testify: (facts) => {
      record.facts = { ...record.facts, ...facts };
    },
    place: site.effectSite.place,
    warn: (warning) => void record.warnings.push(warning),
    show: (content) => {
      record.content = content;
    },
    run: how.ticket,
    locked: how.locked,
    standing: how.lasts ? (stop) => site.standing(record, engine, stop) : undefined,
  });
}

type Parts = Pick<RuntimeParts, 'root' | 'objects' | 'store' | 'clock'>;

/** Makes the class of contexts once for a runtime: one lazy getter a capability. */
export function createContextMaker(
  parts: Parts,
  handles: CapabilityFactories,
  histories: CallHistories,
  runsFor: RunsHandleMaker,
): ContextMaker {
  class Context {
    readonly #call: ContextCall;
    #scope: CallScope | undefined;
    constructor(call: ContextCall) {
      this.#call = call;
    }
    static {
      for (const name of OF_CALL)
        Object.defineProperty(Context.prototype, name, {
          get(this: Context) {
            return this.#call[name];
          },
        });
    }
    get scope(): CallScope {
      this.#scope ??= scopeOf(parts, this.#call);
      return this.#scope;
    }
    get signal() {
      return this.#call.deadline.signal;
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
  for (const name of Object.keys(handles) as (keyof CapabilityFactories)[]) {
    if (name in Context.prototype)
      throw fail('usage', `Cannot create a runtime: a capability cannot be named "${name}"`);
    Object.defineProperty(Context.prototype, name, {
      get(this: Context) {
        const handle = handles[name](this.scope);
        Object.defineProperty(this, name, { value: handle });
        return handle;
      },
    });
  }
  return (call) => new Context(call) as unknown as ToolContext;
}

/** What a context passes on from its call. */
const OF_CALL = [
  ...(['callId', 'requestId', 'sessionId', 'run'] as const),
  ...(['progress', 'output', 'testify', 'warn', 'show'] as const),
];

function scopeOf(parts: Parts, call: ContextCall): CallScope {
  const { callId, undo, warn, engine, tool } = call;
  return {
    callId,
    session: call.sessionId,
    standing: call.standing,
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
      const policy = policyOf(engine, tool);
      return call.approved
        ? { ...policy, fences: policy.fences.map((one) => opened(one, call.effects)) }
        : policy;
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

/** A file of which a person was asked whether the call may write it, and granted that, is open to the programs of the call. */
function opened(fence: Fence, effects: readonly Effect[]): Fence {
  if (fence.own || fence.read) return fence;
  const asked = compilePathGlob(fence.glob);
  const named = effects.flatMap((effect) =>
    effect.kind === 'fs.write' && LITERAL.test(effect.path) && asked.matches(effect.path)
      ? [effect.path]
      : [],
  );
  return named.length === 0 ? fence : { ...fence, except: [...(fence.except ?? []), ...named] };
}

/** Means itself as a pattern. */
const LITERAL = /^[\w./ @+-]+$/;

export function policyOf(engine: PolicyEngine, tool: string): ScopePolicy {
  const { file } = engine.loaded;
  return {
    fences: engine.fences(tool),
    programs: programsOf(file.shell_allow ?? []),
    packs: (file.packs ?? []).filter((pack) => typeof pack === 'string'),
    sandboxOptional: file.sandbox === 'optional',
    get shells() {
      return shellsOf(engine);
    },
  };
}

/** What a session was opened with, no line of haft.yaml raises. */
function shellsOf({ loaded, host }: PolicyEngine): NonNullable<ScopePolicy['shells']> {
  const { max_shells: most = POLICY_DEFAULTS.limits.max_shells } = loaded.file.limits ?? {};
  const isHost = host.limits?.max_shells === loaded.file.limits?.max_shells;
  const more = Math.min(MOST_SHELLS, Math.max(2 * most, 1));
  return { most, ...(isHost && more > most ? { admit: renderGrant({ limits: { max_shells: more } }) } : {}) };
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

/** Policy is asked anew for every access: it may be another one by then. */
export function standingHandles(
  parts: Pick<RuntimeParts, 'root' | 'objects' | 'events'>,
  handles: CapabilityFactories,
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
      const exec = handles.exec(scope);
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
      return handles.http(scope);
    },
  };
}

/** What `effects` may ask. */
type CallHistories = Pick<HistoryHandle, 'changes' | 'undoneBy'>;

export function createHistories({ audit, retention }: Pick<Store, 'audit' | 'retention'>): CallHistories {
  return {
    async changes(callId): Promise<CallHistory | undefined> {
      const rows = await audit.rows({ callId });
      const intent = rows.find((row) => row.phase === 'intent');
      if (!intent) return undefined;
      const finished = rows.some((row) => row.phase === 'outcome' && row.outcome === 'ok');
      const { tool, changes, attribution } = intent;
      const givenUp = intent.seq <= (await retention.givenUp()) ? { givenUp: true as const } : {};
      return { callId, tool, changes, finished, ...(attribution ? { attribution } : {}), ...givenUp };
    },
    async undoneBy(callId) {
      const [first] = await audit.rows({ callId });
      const undone = await audit.rows({
        tool: 'undo',
        outcome: 'ok',
        ...(first ? { afterSeq: first.seq } : {}),
      });
      // The last one that stands: an undo can be undone, by one that comes after it.
      const standing = (id: string): string | undefined =>
        undone.findLast((row) => row.facts?.undoes === id && standing(row.callId) === undefined)?.callId;
      return standing(callId);
    },
  };
}

/** The handle of one call: bytes of the past are guarded like those of the present. */
function historyFor(histories: CallHistories, scope: Pick<CallScope, 'admit' | 'objects'>): HistoryHandle {
  return {
    ...histories,
    async content(callId, path, side) {
      scope.admit({ kind: 'fs.read', path });
      const change = (await histories.changes(callId))?.changes.find((one) => one.path === path);
      const state = change?.[side];
      if (state?.type !== 'file' || (await scope.objects.size(state.object)) === undefined) return undefined;
      return scope.objects.get(state.object);
    },
  };
}
