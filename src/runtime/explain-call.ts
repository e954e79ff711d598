// Owns: what would become of a call: the pipeline's own steps up to the first that would do something, and then as far as can be looked.
// Refuses: to do anything: no row, no place in a budget, no approval made or used up, nothing executed or sent.
import type { CallRequest } from '../contract/envelope.ts';
import { checkFields, checkRequest, readCallRequest } from '../contract/envelope.ts';
import { type Failure, isFailure } from '../contract/errors.ts';
import type { Decision } from '../contract/policy.ts';
import type { CallOptions, Explanation } from '../contract/runtime.ts';
import { lookForApproval } from './approval.ts';
import { startDeadline } from './limits.ts';
import { lookAtCall } from './look-at-call.ts';
import type { PreparedCall } from './name-run.ts';
import { approve, authorise, type PipelineSite } from './pipeline.ts';
import { beginRecord } from './record.ts';

type Options = Pick<CallOptions, 'backend' | 'placement'>;

/**
 * Throws what refuses the call before policy is asked; what refuses it later, policy, budget, a person or the place that a link
 * leads to, is the decision. `ahead`: how many calls of the same session would be made before it.
 */
export async function explainCall(
  site: PipelineSite,
  given: CallRequest,
  options: Options = {},
  ahead = 0,
): Promise<Explanation> {
  const request = readCallRequest(given);
  checkRequest(request);
  checkFields('explain the call', options, { backend: true, placement: true });
  const session = await site.sessions.use(request.sessionId);
  const engine = await session.engine();
  const record = beginRecord(site.parts, request, site.sessions.defaultId);
  // A call would look again, and start what is down.
  const isDown = site.registry.get(request.tool)?.tool.gate?.health()?.status === 'unhealthy';
  let told: Pick<Explanation, 'approval' | 'unseen'> = {};
  let prepared: PreparedCall | undefined;
  let refusal: Failure | undefined;
  try {
    const asked = { session, engine, record, request };
    const call = await authorise(site, asked, { ...options, probe: isDown }, () => {
      session.budget.check(ahead);
      return undefined;
    });
    ({ prepared } = call);
    const deadline = () => startDeadline(record.tool, call.limits.timeoutMs, undefined);
    const asks = call.decision.verdict === 'ask';
    const approval = asks ? await approve(site, call, record, deadline(), lookForApproval) : undefined;
    if (approval) told = { approval: { id: approval.id, status: approval.status } };
    if (!asks || approval?.status === 'granted') {
      const unseen = await lookAtCall(site, call, record, {
        deadline: deadline(),
        explain: (inner, where) => explainCall(site, inner, where, ahead + 1),
      });
      const whole = isDown ? [...unseen, DOWN] : unseen;
      if (whole.length > 0) told = { ...told, unseen: whole };
    }
  } catch (thrown) {
    if (!isFailure(thrown) || thrown.code !== 'E_POLICY' || record.decision.rule === 'input') throw thrown;
    refusal = thrown;
  }
  const { decision, all } = engine.decide(record.tool, record.effects);
  const explained = { tool: record.tool, effects: record.effects, ...told };
  if (refusal && decision.verdict !== 'deny') {
    const refused = refusedBy(refusal);
    return { ...explained, decision: refused, all: [...all, refused] };
  }
  return { ...explained, decision, all, ...placeOf(record.tool, all, prepared) };
}

const DOWN = 'whether it can be reached: when it was last looked at, it could not';

function refusedBy({ reason, message, details = {} }: Failure): Decision {
  const { rule = reason, admit } = details;
  const way = typeof admit === 'string' ? { admit } : {};
  const verdict = reason === 'approval.pending' ? 'ask' : 'deny';
  return { verdict, rule: String(rule), message, reason, ...way };
}

/** Where policy lets a prepared run go. */
function placeOf(
  tool: string,
  all: readonly Decision[],
  prepared: PreparedCall | undefined,
): Pick<Explanation, 'all' | 'place'> | undefined {
  if (!prepared?.place) return undefined;
  const { backend, placement, rule = 'runs', why = 'the host says so', otherwise = [] } = prepared.place;
  const others = otherwise.map((one) => one.backend);
  const message = `${tool} runs on ${[backend, ...others].join(', or where that does not answer on ')}: ${why}`;
  return {
    all: [...all, { verdict: 'allow', rule, message }],
    place: { backend, ...(placement ? { placement } : {}), rule, why, otherwise: others },
  };
}
