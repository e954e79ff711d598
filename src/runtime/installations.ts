// Owns: the packs that this runtime has: their tools in the registry, and one connection to each, opened when first needed.
// Refuses: to let a tool of a pack go round the pipeline, and to let one dead pack hide another.
import { isNestedDeeper, MAX_DEPTH } from '../base/canonical-json.ts';
import { isRecord } from '../base/is-record.ts';
import type { AdapterConnection, CallHandles, Invocation, InvocationResult } from '../contract/adapter.ts';
import { spillBytes } from '../contract/adapter.ts';
import type { ToolContext } from '../contract/capability.ts';
import type { ResolvedCredentials } from '../contract/credentials.ts';
import { fail, isFailure } from '../contract/errors.ts';
import type { ToolHealth } from '../contract/health.ts';
import type { Json } from '../contract/json.ts';
import type { BoundTool, HealthReport } from '../contract/manifest.ts';
import type { PrepareSite } from '../contract/runs.ts';
import type { OpenPack, RuntimeInstallations, SecretNeeds } from '../contract/runtime.ts';
import type { AnyTool, EffectSite, ToolGate } from '../contract/tool.ts';
import type { Registry } from './registry.ts';
import { createAnswerSpill, type SpillSite } from './spills.ts';

export interface Installations extends Omit<RuntimeInstallations, 'handlesFor' | 'explainMissing'> {
  /** Why a tool cannot be called until a person accepts it; undefined for all others. */
  quarantined(id: string): string | undefined;
  close(): Promise<void>;
}

interface Installed {
  pack: OpenPack;
  connection?: Promise<AdapterConnection>;
  /** The same, once it is there. */
  opened?: AdapterConnection;
  /** How many calls are under way, and whom the end of the last one is told. */
  busy?: number;
  idle?: () => void;
}

interface InstallationSite {
  readonly registry: Registry;
  /** Where answers are kept that are too large. */
  spills(): SpillSite['spills'];
  /** Told when there are other tools than before. */
  changed(): void;
}

export function createInstallations({ registry, spills, changed }: InstallationSite): Installations {
  const installed = new Map<string, Installed>();
  const draining = new Set<Installed>();

  const connect = (entry: Installed): Promise<AdapterConnection> => {
    const { adapter, installation, tools } = entry.pack;
    entry.connection ??= Promise.resolve(adapter.open(installation, tools)).then(
      (opened) => {
        entry.opened = opened;
        return opened;
      },
      (thrown) => {
        delete entry.connection;
        throw thrown;
      },
    );
    return entry.connection;
  };

  const during = async <T>(entry: Installed, work: () => Promise<T>): Promise<T> => {
    entry.busy = (entry.busy ?? 0) + 1;
    try {
      return await work();
    } finally {
      entry.busy--;
      if (entry.busy === 0) entry.idle?.();
    }
  };

  /** Another took its place: what is under way goes on, and nothing new comes. */
  const drain = async (entry: Installed): Promise<void> => {
    entry.idle = () => {
      draining.delete(entry);
      void disconnect(entry).catch(() => {});
    };
    if (!entry.busy) return disconnect(entry);
    draining.add(entry);
  };

  /** Its tools in the registry, reached by the connection of `by`. */
  const offer = (pack: OpenPack, by: Installed): void => {
    const { name } = pack.installation;
    const origin = originOf(name);
    registry.miss(name, pack.absent?.known === false ? pack.absent : undefined);
    registry.refuse(origin, pack.refused);
    const reach = {
      connect: () => connect(by),
      during: <T>(work: () => Promise<T>) => during(by, work),
      spills,
    };
    registry.add(pack.tools.map((tool) => ({ tool: toolOf(tool, pack, reach), origin })));
  };

  const disconnect = async (entry: Installed): Promise<void> => {
    const { connection } = entry;
    // A call that was on its way by then opens it anew.
    delete entry.connection;
    delete entry.opened;
    const opened = await connection?.catch(() => undefined);
    await opened?.close();
  };

  return {
    add(pack) {
      const { name } = pack.installation;
      if (installed.has(name))
        throw fail('pack.invalid', `Cannot install "${name}": there is a pack of that name`);
      const entry: Installed = { pack };
      offer(pack, entry);
      installed.set(name, entry);
      changed();
    },
    async replace(pack) {
      const { name } = pack.installation;
      const entry = installed.get(name);
      if (!entry) throw fail('tool.unknown', `Cannot replace "${name}": no such pack is installed`);
      const before = entry.pack;
      const next: Installed = isReachedAlike(before, pack) ? entry : { pack };
      registry.remove(originOf(name));
      try {
        offer(pack, next);
      } catch (thrown) {
        offer(before, entry);
        throw thrown;
      }
      next.pack = pack;
      installed.set(name, next);
      changed();
      if (next !== entry) return drain(entry);
      const connection = await entry.connection?.catch(() => undefined);
      if (!connection) return;
      if (connection.retool) return connection.retool(entry.pack.tools);
      delete entry.connection;
      delete entry.opened;
      await connection.close();
    },
    async remove(name) {
      const entry = installed.get(name);
      if (!entry) throw fail('tool.unknown', `Cannot remove "${name}": no such pack is installed`);
      installed.delete(name);
      registry.remove(originOf(name));
      registry.miss(name, undefined);
      registry.refuse(originOf(name), undefined);
      changed();
      await disconnect(entry);
    },
    all: () => [...installed.values()].map(({ pack }) => pack),
    quarantined(id) {
      for (const { pack } of installed.values()) {
        const why = quarantineOf(pack, id);
        if (why !== undefined) return why;
      }
      return undefined;
    },
    async health(name, signal): Promise<HealthReport> {
      const entry = installed.get(name);
      if (!entry) throw fail('tool.unknown', `Cannot look at "${name}": no such pack is installed`);
      const { absent } = entry.pack;
      if (absent?.known === false) {
        const down = await absent.ask(signal).then(() => undefined, failedLook);
        if (down) return withoutSecretsOf(entry.pack, down);
      }
      const report = await (await connect(entry)).health(signal);
      return report.message === undefined ? report : withoutSecretsOf(entry.pack, report);
    },
    asleep(name) {
      const entry = installed.get(name);
      return entry !== undefined && (entry.opened?.asleep?.() ?? entry.opened === undefined);
    },
    async settle({ name, ms = LISTING_MS } = {}) {
      const waiting = [...installed.values()].flatMap(({ pack: { installation, absent } }) =>
        absent && !absent.known && !absent.isRecent && (name ?? installation.name) === installation.name
          ? [absent]
          : [],
      );
      if (waiting.length === 0 || ms <= 0) return;
      const late = AbortSignal.timeout(ms);
      await Promise.all(
        waiting.map((absent) => absent.ask(late).catch(() => late.aborted && absent.slow(ms))),
      );
    },
    async close() {
      await Promise.all([...installed.values(), ...draining].map(disconnect));
      installed.clear();
    },
  };
}

/** How long whoever lists tools waits for servers that nobody has asked yet. */
const LISTING_MS = 5_000;

const failedLook = (thrown: Error): HealthReport => ({
  status: 'unhealthy',
  checkedTs: Date.now(),
  message: thrown.message,
});

/** One connection serves both. */
const isReachedAlike = (a: OpenPack, b: OpenPack): boolean =>
  a.adapter === b.adapter && a.installation.digest === b.installation.digest;

const originOf = (name: string) => `pack ${name}`;

interface ToolSite extends Pick<InstallationSite, 'spills'> {
  connect(): Promise<AdapterConnection>;
  /** Whatever is done through the connection: it stays for so long. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** What the pipeline calls: the adapter says what a call would touch, and carries it there. */
function toolOf(tool: BoundTool, pack: OpenPack, { connect, during, spills }: ToolSite): AnyTool {
  const { adapter, installation } = pack;
  const why = quarantineOf(pack, tool.contract.id);
  if (why !== undefined) return quarantinedTool(tool, why);
  const health = pack.health?.(tool);
  const secrets = pack.needs?.(tool);
  return {
    ...tool.contract,
    ...(health || secrets ? { gate: gateOf(health, secrets) } : {}),
    ...(adapter.needs
      ? { needs: (site: EffectSite) => adapter.needs?.({ installation, tool, site }) ?? [] }
      : {}),
    effects: (args: unknown, site) => adapter.effects?.({ installation, tool, args, site }) ?? [],
    ...(adapter.prepare
      ? {
          prepare: (args: unknown, site: PrepareSite) =>
            (adapter.prepare as NonNullable<typeof adapter.prepare>)({ installation, tool, args, site }),
        }
      : {}),
    // What an adapter does not tell apart, its pack's digest does.
    runInputs: (args: unknown) =>
      adapter.runIdentity?.({ installation, tool, args }) ?? { code: installation.digest },
    async run(args: unknown, ctx) {
      const resolved = await pack.secrets?.(tool, ctx.sessionId);
      const { mutates, idempotent } = tool.contract;
      // What may have had an effect must be known of, should this process die on the way.
      if (mutates || !idempotent) await ctx.intend();
      try {
        const result = await during(async () =>
          (await connect()).invoke(invocationOf(tool, args, ctx, resolved, spills)),
        );
        refuseDeep(tool.contract.id, result);
        const { content } = result;
        if (content) ctx.show(resolved ? resolved.redactor.value(content) : content);
        if (result.ok) {
          health?.observe(undefined);
          return resolved ? resolved.redactor.value(result.data) : result.data;
        }
        throw fail(
          'tool.failed',
          `"${tool.contract.id}" failed: ${result.message}`,
          isNestedDeeper(result.details) ? { left_out: TOO_DEEP } : ownDetails(result.details),
        );
      } catch (thrown) {
        const shown = resolved ? withoutSecrets(thrown, resolved) : thrown;
        if (isFailure(shown)) health?.observe(shown);
        throw shown;
      }
    },
  };
}

const TOO_DEEP = `nested more than ${MAX_DEPTH} levels deep`;

/** Before anybody walks through it. */
function refuseDeep(id: string, result: InvocationResult): void {
  if (isNestedDeeper(result.content?.blocks) || (result.ok && isNestedDeeper(result.data)))
    throw fail('output.schema', `Cannot return what "${id}" answered: it is ${TOO_DEEP}`);
}

/** What a tool says of its own failure. Words in which Haft speaks to people must not look as if Haft said them. */
function ownDetails(details: unknown): { readonly [key: string]: Json } | undefined {
  if (details === undefined) return undefined;
  const isMap = isRecord(details);
  const taken = isMap && OURS.some((key) => Object.hasOwn(details, key));
  return isMap && !taken ? (details as { readonly [key: string]: Json }) : { details: details as Json };
}

/** Keys of `details` that hosts show as Haft's own advice, or go by. */
const OURS = ['admit', 'approval_id', 'fix', 'hint', 'retry_after_ms', 'rule'];

function gateOf(health: ToolHealth | undefined, secrets: SecretNeeds | undefined): ToolGate {
  return {
    admit({ sessionId, probe, signal }) {
      const healthy = probe ? undefined : health?.admit(signal);
      if (!secrets) return healthy;
      return healthy ? healthy.then(() => secrets.require(sessionId)) : secrets.require(sessionId);
    },
    lacks: () => secrets?.lacking() ?? [],
    health: () => health?.report(),
  };
}

const quarantineOf = ({ quarantine }: OpenPack, id: string): string | undefined =>
  quarantine && Object.hasOwn(quarantine, id) ? quarantine[id] : undefined;

/** It is there, so that a call is told why it cannot be made. */
function quarantinedTool({ contract }: BoundTool, why: string): AnyTool {
  const refuse = () => {
    throw fail('tool.changed', why);
  };
  return { ...contract, effects: refuse, run: refuse };
}

function invocationOf(
  { contract: { id, limits } }: BoundTool,
  args: unknown,
  ctx: ToolContext,
  resolved: ResolvedCredentials | undefined,
  spills: InstallationSite['spills'],
): Invocation {
  const handles: CallHandles = {
    get exec() {
      return ctx.exec;
    },
    get http() {
      return ctx.http;
    },
  };
  const redacted = <T>(value: T): T => (resolved ? resolved.redactor.value(value) : value);
  return {
    tool: id,
    args,
    callId: ctx.callId,
    signal: ctx.signal,
    handles,
    progress: (progress) => ctx.progress(redacted(progress)),
    testify: (facts) => ctx.testify(redacted(facts)),
    warn: (warning) => ctx.warn(redacted(warning)),
    output: (stream, text) => ctx.output(stream, redacted(text)),
    spill: () =>
      createAnswerSpill({
        tool: id,
        spills: spills(),
        redactor: resolved?.redactor,
        maxBytes: spillBytes(limits.maxOutputBytes),
      }),
    ...(ctx.run ? { run: ctx.run } : {}),
    ...(resolved ? { credentials: resolved.secrets } : {}),
  };
}

/** What a server says while it fails to start is looked at with the secrets that it was started with. */
async function withoutSecretsOf({ secrets, tools: [tool] }: OpenPack, report: HealthReport) {
  const resolved = tool && (await secrets?.(tool, ''));
  return resolved ? resolved.redactor.value(report) : report;
}

/** A program, or a bug on the way to it, may put what it was given into words. */
function withoutSecrets(thrown: unknown, { redactor }: ResolvedCredentials): unknown {
  if (isFailure(thrown)) {
    const { reason, message, details } = thrown;
    return fail(reason, redactor.text(message), details && redactor.value(details));
  }
  const words = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return Object.assign(new Error('redacted'), { stack: redactor.text(words) });
}
