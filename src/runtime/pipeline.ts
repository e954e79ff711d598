// Owns: the one way a tool is called, top to bottom: resolve, check, identify, authorise, replay, lock, execute, sync, check, validate, record.
// Refuses: a second way. Nothing else calls a tool, and nothing here knows one by name.
import { type Effect, onlyLooks } from '../contract/effect.ts';
import {
  type CallRequest,
  type CallResponse,
  checkFields,
  checkRequest,
  type EventMessage,
  readCallRequest,
} from '../contract/envelope.ts';
import { type ErrorEntry, type Failure, fail } from '../contract/errors.ts';
import type { JsonObject, SchemaProblem } from '../contract/json.ts';
import type { Decision, PolicyEngine } from '../contract/policy.ts';
import type { ReplaySource } from '../contract/replay.ts';
import type { RuntimeRuns } from '../contract/runs.ts';
import { CALL_OPTIONS, type CallOptions, type NamedRun, type RuntimeParts } from '../contract/runtime.ts';
import type { Standing } from '../contract/shells.ts';
import type { EffectSite } from '../contract/tool.ts';
import { giveBackUnused, type Question, questionOf, requireApproval } from './approval.ts';
import type { LiveCapabilities } from './capabilities.ts';
import { type ContextMaker, contextFor, type Execution } from './context.ts';
import { readArgs, resultDigest } from './identity.ts';
import { type Deadline, effectiveLimits, type SizeLimit, sizeOf, startDeadline } from './limits.ts';
import { takeLocks } from './locks.ts';
import {
  askedSignal,
  deniedBy,
  nameRun,
  type PreparedCall,
  prepareRun,
  type RunNamingSite,
} from './name-run.ts';
import type { KeepPolicy } from './proof/keep-policy.ts';
import { beginRecord, type CallRecord, type LateRows, shownError, writeOutcome } from './record.ts';
import type { RegisteredTool, Registry } from './registry.ts';
import { attributionOf, type LiveSession, type Sessions } from './session.ts';
import { createSpills } from './spills.ts';
import { validateCall } from './validate.ts';

/** What the steps share beyond the parts. */
export interface PipelineSite extends RunNamingSite {
  readonly parts: RuntimeParts;
  readonly registry: Registry;
  readonly sessions: Sessions;
  /** What `effects` may look at. */
  readonly effectSite: EffectSite;
  readonly capabilities: LiveCapabilities;
  readonly makeContext: ContextMaker;
  readonly replay: ReplaySource;
  readonly runs: Pick<RuntimeRuns, 'attempts'>;
  readonly late: LateRows;
  /** No other call is under way. */
  isAlone(): boolean;
  /** Begins work that goes on after the call. */
  standing(record: CallRecord, engine: PolicyEngine, stop: (why: Failure) => void): Promise<Standing>;
  /** Keeps the policy that a run is made under, for proofs. */
  readonly keepPolicy: KeepPolicy;
}

const EVERYTHING: readonly Effect[] = [{ kind: 'fs.read', path: '.', tree: true }];

export async function runCall(
  site: PipelineSite,
  given: CallRequest,
  options: CallOptions = {},
): Promise<CallResponse> {
  const { parts } = site;
  const started = parts.clock.monotonic();
  const request = readCallRequest(given);
  const record = beginRecord(site.parts, request, site.sessions.defaultId);
  const emit = (event: EventMessage) => {
    parts.events.emit(event);
    options.onEvent?.(event);
  };
  let session: LiveSession | undefined;
  let giveBack: (() => void) | undefined;
  let release: (() => Promise<void>) | undefined;
  let data: unknown = null;
  let replayed = false;
  let looks = false;
  let begun: RegisteredTool | 'ended' | undefined;
  let error: ErrorEntry | undefined;

  try {
    checkRequest(request);
    checkFields(`call "${record.tool}"`, options, CALL_OPTIONS);
    session = await site.sessions.use(request.sessionId);
    const engine = await session.engine();
    const { budget } = session;
    const call = await authorise(site, { session, engine, record, request }, options, () => {
      giveBack = budget.reserve();
      return budget.limited ? budget.claim(record.callId) : undefined;
    });
    const { registered, limits, args, decision, run } = call;
    const { tool } = registered;
    looks = call.looks;
    if (options.onNamed) await options.onNamed(run);
    const ticket = call.prepared && { ...call.prepared.ticket, session: sessionOf(site, record) };
    const limit = () => startDeadline(tool.id, limits.timeoutMs, options.signal);
    const approved = decision.verdict === 'ask';
    if (approved) record.approval = await approve(site, call, record, limit(), requireApproval);

    const hit = record.run && !options.verify ? await site.replay.find(record.run.runId) : undefined;
    if (hit) {
      begun = 'ended';
      data = hit.data;
      replayed = true;
      await refuseTooLarge(site, record, data, limits.output);
    } else {
      const deadline = limit();
      try {
        const locks = tool.mutates ? await takeLocks(site, record, engine, deadline) : undefined;
        release = locks?.release;
        if (run) await site.keepPolicy(run.preimage.policyHash as string, run.policy);
        const lasts = !options.once;
        const how: Execution = { engine, approved, deadline, emit, ticket, lasts, locked: locks?.locked };
        begun = registered;
        const work = () =>
          execute(record, tool.run(args as never, contextFor(site, record, args, how)), deadline);
        data = await (site.capabilities.follow?.({ record, engine }, work) ?? work());
        begun = 'ended';
        await checkOutput(site, registered, record, data, limits.output);
        if (!looks || engine.loaded.file.validators)
          await validateCall(parts, {
            record,
            args,
            engine,
            deadline,
            files: () => contextFor(site, record, args, { ...how, effects: EVERYTHING }).fs,
          });
      } finally {
        deadline.clear();
      }
      // A prepared run was kept with its attempt. What it read may have become something else meanwhile.
      if (run && !ticket && (await nameRun(tool, args, engine))?.runId === run.runId) {
        const { runId, preimage } = run;
        await site.replay.keep({ runId, preimage, callId: record.callId, data, outputs: [] });
      }
    }
    // So that a row proves what the run answered, executed or replayed.
    const result = run && resultDigest(data);
    if (result) record.facts = { ...record.facts, result };
  } catch (thrown) {
    error = shownError(parts, thrown);
    data = null;
    await giveBackUnused(parts, record, begun);
    // What the store counts it knows: a session must not come to be by being asked for in vain.
    if (error.reason === 'session.unknown') record.session = site.sessions.defaultId;
  }

  const budget = session?.budget;
  const answerFirst = looks && !error && !record.intended && !options.recordFirst && !budget?.limited;
  const alone = options.recordFirst === true && site.isAlone();
  error = await writeOutcome(parts, record, { error, budget, late: site.late, answerFirst, alone, release });
  giveBack?.();
  await release?.();
  emit({
    type: 'EventMessage',
    event: 'CallFinished',
    request_id: record.requestId,
    session_id: record.session,
    data: { call_id: record.callId, tool: record.tool, ok: !error },
  });
  return {
    ok: !error,
    tool: record.tool,
    requestId: record.requestId,
    callId: record.callId,
    ...(record.run ? { runId: record.run.runId, replayed } : {}),
    durationMs: Math.round((parts.clock.monotonic() - started) * 1000) / 1000,
    data: error ? null : data,
    // What was answered is shown; what failed a check of ours is not.
    ...(record.content && (!error || error.reason === 'tool.failed') ? { content: record.content } : {}),
    errors: error ? [error] : [],
    ...(record.warnings.length > 0 ? { warnings: record.warnings } : {}),
  };
}

/** A call that somebody wants to make, or to know about. */
interface AskedCall {
  readonly session: LiveSession;
  readonly engine: PolicyEngine;
  /** Filled in on the way. */
  readonly record: CallRecord;
  readonly request: CallRequest;
}

/** What is known of a call that may be made, but for the answer of a person. */
export interface AuthorisedCall {
  readonly engine: PolicyEngine;
  readonly registered: RegisteredTool;
  readonly limits: ReturnType<typeof effectiveLimits>;
  readonly args: JsonObject;
  /** `allow` or `ask`. */
  readonly decision: Decision;
  readonly prepared: PreparedCall | undefined;
  readonly run: NamedRun | undefined;
  /** It changes nothing. */
  readonly looks: boolean;
}

/**
 * From the name of a tool to the decision on the call: resolve, check input, identify, authorise. The same steps for a call and
 * for whoever only asks about one; only `spend`, which takes a place in the session's budget or looks for one, differs.
 */
export async function authorise(
  site: PipelineSite,
  { session, engine, record, request }: AskedCall,
  options: CallOptions,
  spend: () => Promise<void> | undefined,
): Promise<AuthorisedCall> {
  record.session = session.id;
  record.attribution = session.attribution;
  record.policyHash = engine.loaded.sha256;

  const { registry } = site;
  const registered = registry.get(request.tool) ?? (await registry.seek(request.tool, askedSignal(options)));
  const { tool } = registered;
  record.contract = tool.contract;
  const gated = tool.gate?.admit({
    sessionId: session.id,
    probe: options.probe,
    signal: () => askedSignal(options),
  });
  if (gated) await gated;
  const limits = effectiveLimits(tool, engine);

  const args = await checkInput(registered, record, request.args ?? {}, limits.input);
  record.attribution = attributionOf(session, args);
  record.effects = await tool.effects(args as never, site.effectSite);
  const looks = !tool.mutates && !tool.deterministic && onlyLooks(record.effects);

  const decision = await decide(record, engine);
  // Before a toolpack is asked anything: its code does not run for a session that may make no call.
  const spending = spend();
  if (spending) await spending;
  const prepared =
    tool.prepare && (await prepareRun(site, tool, args, engine, options).catch(noteDenial(record)));
  const isNamed = tool.deterministic || options.backend !== undefined || options.placement !== undefined;
  const run = prepared ? prepared.run : isNamed ? await nameRun(tool, args, engine, options) : undefined;
  record.run = run;
  return { engine, registered, limits, args, decision, prepared, run, looks };
}

/** Answers the arguments with defaults filled in; the caller's own object stays as it was. */
async function checkInput(
  registered: RegisteredTool,
  record: CallRecord,
  sent: JsonObject,
  limit: SizeLimit,
): Promise<JsonObject> {
  const { identity, args } = readArgs(record.tool, sent);
  record.args = identity;
  const { bytes } = record.args;
  if (bytes > limit.bytes) {
    const message = `Cannot call "${record.tool}": its arguments are ${bytes} bytes, over the limit of ${limit.bytes}`;
    throw fail('input.too_large', message, { bytes, limit: limit.bytes, ...limit.admit(bytes) });
  }
  const problems = await (await registered.checkInput())(args);
  if (problems.length > 0) {
    const list = problems.map(describeProblem).join(', ');
    const details = { problems: problems.map(({ path, keyword, message }) => ({ path, keyword, message })) };
    throw fail('input.schema', `Cannot call "${record.tool}": ${list}`, details);
  }
  return args;
}

/** Arguments are named as the caller names them: `path must be string`, `missing argument "path"`. */
const describeProblem = ({ path, message }: SchemaProblem): string =>
  path === ''
    ? message
        .replace(/^is missing (?=")/, 'missing argument ')
        .replace(/^has no property (?=")/, 'no such argument ')
    : `"${path.slice(1)}" ${message}`;

/** Policy and guards, always before any look at earlier results. Answers `allow` or `ask`. */
async function decide(record: CallRecord, engine: PolicyEngine): Promise<Decision> {
  const waiting = engine.ready?.(record.effects);
  if (waiting) await waiting;
  const { decision } = engine.decide(record.tool, record.effects);
  record.decision = { verdict: decision.verdict, rule: decision.rule };
  if (decision.verdict === 'deny') throw denial(decision);
  return decision;
}

/**
 * Last of all guards, so that no approval is used up by a call that another of them stops; see `giveBackUnused`. `settle` uses it
 * up, or looks at it.
 */
export async function approve<T>(
  site: PipelineSite,
  call: Pick<AuthorisedCall, 'registered' | 'args' | 'engine' | 'decision'>,
  record: CallRecord,
  deadline: Deadline,
  settle: (parts: RuntimeParts, question: Question) => Promise<T>,
): Promise<T> {
  const { engine, args, decision } = call;
  const { tool } = call.registered;
  // What is seen of a dry run is the person's; it leaves neither warnings nor facts.
  const aside = { ...record, warnings: [], facts: null };
  const how = { engine, approved: true, deadline, emit: () => {} };
  const question = await questionOf({
    record,
    tool,
    args,
    engine,
    decision,
    effectsOf: (dry) => tool.effects(dry as never, site.effectSite),
    contextOf: (dry, effects) => contextFor(site, aside, dry, { ...how, effects }),
    inTime: (work) => execute(record, work, deadline).finally(() => deadline.clear()),
  });
  return settle(site.parts, question);
}

function denial(decision: Decision) {
  const admit = decision.admit ? { admit: decision.admit } : {};
  const line = decision.line === undefined ? {} : { line: decision.line };
  return fail(decision.reason ?? 'policy.denied', decision.message, {
    rule: decision.rule,
    ...line,
    ...admit,
  });
}

/** Policy has a word on where a run goes as well. */
const noteDenial =
  (record: CallRecord) =>
  (thrown: unknown): never => {
    const rule = deniedBy(thrown);
    if (rule !== undefined) record.decision = { verdict: 'deny', rule };
    throw thrown;
  };

const sessionOf = ({ sessions }: PipelineSite, { session }: CallRecord): string | null =>
  session === sessions.defaultId ? null : session;

export async function execute(record: CallRecord, running: unknown, deadline: Deadline): Promise<unknown> {
  if (!(running instanceof Promise)) return running;
  deadline.arm();
  try {
    return await Promise.race([running, deadline.aborted]);
  } catch (thrown) {
    // Once the intent is out the change is under way: only its own end says what is true.
    if (deadline.signal.aborted && record.intended) return await running;
    running.catch(() => {});
    throw thrown;
  }
}

async function checkOutput(
  site: PipelineSite,
  registered: RegisteredTool,
  record: CallRecord,
  data: unknown,
  limit: SizeLimit,
): Promise<void> {
  const problems = await (await registered.checkOutput())(data);
  if (problems.length > 0) {
    const list = problems.map((p) => `${p.path || 'data'} ${p.message}`).join('; ');
    throw fail('output.schema', `Cannot return what "${record.tool}" answered: ${list}`);
  }
  await refuseTooLarge(site, record, data, limit);
}

async function refuseTooLarge(
  site: PipelineSite,
  record: CallRecord,
  data: unknown,
  limit: SizeLimit,
): Promise<void> {
  const { content } = record;
  const apart = content && !content.inData ? content.blocks : undefined;
  const bytes = sizeOf(data) + (apart ? sizeOf(apart) : 0);
  record.answerBytes = bytes;
  if (bytes <= limit.bytes) return;
  record.content = undefined;
  const whole = apart ? { data, content: apart } : data;
  const artifact = await createSpills(site.parts).put(Buffer.from(JSON.stringify(whole)));
  const message = `Cannot return the answer of "${record.tool}" inline: it is ${bytes} bytes, over the limit of ${limit.bytes}; the whole answer is kept as ${artifact}`;
  throw fail('output.too_large', message, { bytes, limit: limit.bytes, artifact, ...limit.admit(bytes) });
}
