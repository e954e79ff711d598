// Owns: which run a call is: what it depends on, by params and policy, before anybody looks for an earlier result.
// Refuses: to execute anything, and a run that policy lets go nowhere.
import { type Failure, fail, isFailure } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { PolicyEngine } from '../contract/policy.ts';
import type { ChosenPlace, PrepareSite, RunChoice, RunTicket } from '../contract/runs.ts';
import type { CallOptions, NamedRun } from '../contract/runtime.ts';
import type { AnyTool } from '../contract/tool.ts';
import { projectRun } from '../policy/sections/runs.ts';
import { identifyRun, runParams } from './identity.ts';

export interface RunNamingSite {
  /** What preparing a run may look at; loads what runs need. */
  prepareSite(signal: AbortSignal, run: Pick<RunChoice, 'tool' | 'policy'>): Promise<PrepareSite>;
  /** Where policy lets a prepared run go. */
  chooseRun(run: RunChoice): Promise<ChosenPlace | undefined>;
}

export interface PreparedCall {
  readonly run: NamedRun;
  /** Where policy lets it go; undefined where the host leaves that open. */
  readonly place: ChosenPlace | undefined;
  readonly ticket: Omit<RunTicket, 'session'>;
}

/** Of a deterministic tool that is not prepared; asked once policy has let it be called. Throws where somebody chose a place for it. */
export async function nameRun(
  tool: AnyTool,
  args: JsonObject,
  engine: PolicyEngine,
  { backend, placement }: Pick<CallOptions, 'backend' | 'placement'> = {},
): Promise<NamedRun | undefined> {
  if (backend !== undefined || placement !== undefined) throw placeless(tool, backend);
  if (!tool.deterministic || tool.prepare) return undefined;
  const params = await runParams(tool, args);
  if (!params) return undefined;
  return {
    ...identifyRun(tool, params, engine.hashFor(tool.id)),
    policy: () => engine.projectionFor(tool.id),
  };
}

function placeless({ id }: AnyTool, backend: string | undefined): Failure {
  const where = backend === undefined ? 'at a place of a cluster' : `on "${backend.slice(0, 80)}"`;
  const hint = backend === undefined ? 'the place' : 'the backend';
  return fail(
    'usage',
    `Cannot run "${id}" ${where}: only tools of toolpacks run on a backend; leave ${hint} out`,
  );
}

/** The run that a prepared call is. Throws what policy denies of it. */
export async function prepareRun(
  site: RunNamingSite,
  tool: AnyTool,
  args: JsonObject,
  engine: PolicyEngine,
  options: CallOptions = {},
): Promise<PreparedCall | undefined> {
  const { backend, placement, verify, resume = false, onStarted } = options;
  const { file: policy } = engine.loaded;
  const given = await site.prepareSite(askedSignal(options), { tool: tool.id, policy });
  const prepared = await tool.prepare?.(args as never, given);
  if (!prepared) return undefined;
  const { plan, plans } = prepared;
  const place = await site.chooseRun({
    tool: tool.id,
    policy,
    plan,
    ...(plans ? { plans } : {}),
    ...(backend === undefined ? {} : { backend }),
    ...(placement ? { placement } : {}),
  });
  const projection = projectRun(policy, prepared);
  const run = identifyRun(tool, prepared.params, projection.hash);
  const told = onStarted ? { onStarted } : {};
  return {
    run: { ...run, policy: projection.body },
    place,
    ticket: { ...prepared, ...place, ...run, ...told, resume, purpose: verify ? 'verify' : 'run' },
  };
}

/** The rule of `runs` that a thrown denial names; undefined for all else. */
export const deniedBy = (thrown: unknown): string | undefined =>
  isFailure(thrown) && thrown.code === 'E_POLICY' ? String(thrown.details?.rule ?? 'runs') : undefined;

export const askedSignal = ({ signal }: CallOptions): AbortSignal =>
  (typeof signal === 'function' ? signal() : signal) ?? new AbortController().signal;
