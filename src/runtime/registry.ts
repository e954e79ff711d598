// Owns: which tools this runtime has, their compiled schema checks, what MCP clients call them, and what is told of each.
// Refuses: two tools of one id or name, compiling a schema before it is needed, and leaving out what cannot be used.
import { closest } from '../base/closest.ts';
import { sha256Hex } from '../base/digest.ts';
import { type Failure, fail, isFailure } from '../contract/errors.ts';
import type { MaybePromise, SchemaCheck, SchemaCompiler } from '../contract/json.ts';
import type { PolicyEngine } from '../contract/policy.ts';
import type { AbsentPack, RuntimeParts, ToolListing, ToolNames } from '../contract/runtime.ts';
import type { AnyTool, EffectSite } from '../contract/tool.ts';

export interface RegisteredTool {
  readonly tool: AnyTool;
  /** What MCP clients call it. */
  readonly name: string;
  readonly origin: string;
  checkInput(): MaybePromise<SchemaCheck>;
  checkOutput(): MaybePromise<SchemaCheck>;
}

export interface Registry {
  /** Throws `tool.unknown` with the nearest name. */
  find(id: string): RegisteredTool;
  get(id: string): RegisteredTool | undefined;
  /** By the name that MCP clients know it by. */
  named(name: string): RegisteredTool | undefined;
  all(): readonly RegisteredTool[];
  /** All of them, or none: throws `pack.invalid` where a name is taken. */
  add(tools: readonly OfferedTool[]): void;
  /** Takes away all that came from there. */
  remove(origin: string): void;
  /** Of a tool that is not there: asks the pack that would have it, and throws why it cannot be called. */
  seek(id: string, signal: AbortSignal): Promise<RegisteredTool>;
  /** Of a tool that is not there: why it cannot be called. Asks no pack. */
  explainMissing(id: string): Promise<Failure>;
  /** A pack whose tools are not known yet; undefined where they are. */
  miss(pack: string, absent: AbsentPack | undefined): void;
  /** Why tools of a pack cannot be used, by id. */
  refuse(origin: string, why: { readonly [id: string]: string } | undefined): void;
}

interface OfferedTool {
  readonly tool: AnyTool;
  readonly origin: string;
}

export function createRegistry(
  tools: readonly OfferedTool[],
  schemas: SchemaCompiler,
  names: ToolNames = createToolNames(),
  /** Why a tool of a pack that is not open cannot be called. */
  explain: RuntimeParts['explainMissing'] = async () => undefined,
): Registry {
  const byId = new Map<string, RegisteredTool>();
  const idsByName = new Map<string, string>();
  /** By pack. */
  const missing = new Map<string, AbsentPack>();
  /** By origin. */
  const refused = new Map<string, { readonly [id: string]: string }>();
  let sorted: readonly RegisteredTool[] | undefined;

  const refuseTaken = (offered: readonly OfferedTool[]) => {
    const origins = new Map([...byId].map(([id, { origin }]) => [id, origin]));
    for (const { tool, origin } of offered) {
      const other = origins.get(tool.id);
      if (other !== undefined) {
        const message = `Cannot install "${tool.id}" from ${origin}: ${other} has a tool of that name`;
        throw fail('pack.invalid', message);
      }
      origins.set(tool.id, origin);
    }
    refuseNamedAlike(offered);
  };

  /** A client calls by name alone: it would reach one of the two, and nobody could say which. */
  const refuseNamedAlike = (offered: readonly OfferedTool[]) => {
    const given = new Map(idsByName);
    for (const { tool, origin } of offered) {
      const name = names.nameOf(tool.id);
      const other = given.get(name) ?? names.ownerOf(name) ?? tool.id;
      if (other !== tool.id) {
        const hint = 'rename one of them, or their packs';
        const message = `Cannot install "${tool.id}" from ${origin}: MCP clients would call it "${name}", and that is "${other}"; ${hint}`;
        throw fail('pack.invalid', message);
      }
      given.set(name, tool.id);
    }
  };

  const add = (offered: readonly OfferedTool[]) => {
    refuseTaken(offered);
    for (const { tool, origin } of offered) {
      const name = names.nameOf(tool.id);
      idsByName.set(name, tool.id);
      byId.set(tool.id, {
        tool,
        origin,
        name,
        checkInput: once(() => schemas.compile(tool.input, tool.id, 'input')),
        checkOutput: once(() => schemas.compile(tool.output, tool.id, 'output')),
      });
    }
    sorted = undefined;
  };

  const whyNot = (id: string): Failure => {
    for (const why of refused.values())
      if (Object.hasOwn(why, id)) return fail('pack.invalid', `Cannot call "${id}": ${why[id]}`);
    const near = closest(id, [...byId.keys()]);
    return fail(
      'tool.unknown',
      `Cannot call "${shorten(id)}": no such tool${near ? `; did you mean "${near}"?` : ''}`,
    );
  };

  const find = (id: string): RegisteredTool => {
    const found = byId.get(id);
    if (found) return found;
    throw whyNot(id);
  };

  const explainMissing = async (id: string): Promise<Failure> => {
    const why = whyNot(id);
    return why.reason === 'tool.unknown' ? ((await explain(id)) ?? why) : why;
  };

  add(tools);
  return {
    add,
    remove(origin) {
      for (const [id, registered] of byId) {
        if (registered.origin !== origin) continue;
        byId.delete(id);
        idsByName.delete(registered.name);
      }
      sorted = undefined;
    },
    miss(pack, absent) {
      if (absent === undefined) missing.delete(pack);
      else missing.set(pack, absent);
    },
    refuse(origin, why) {
      if (why === undefined) refused.delete(origin);
      else refused.set(origin, why);
    },
    async seek(id, signal) {
      const pack = id.split('.')[0] ?? '';
      await missing
        .get(pack)
        ?.ask(signal)
        .catch((thrown) => {
          throw isFailure(thrown) ? packIsDown(id, pack, thrown) : thrown;
        });
      const found = byId.get(id);
      if (found) return found;
      throw await explainMissing(id);
    },
    explainMissing,
    find,
    get: (id) => byId.get(id),
    named: (name) => byId.get(idsByName.get(name) ?? ''),
    all() {
      sorted ??= Object.freeze([...byId.values()].sort((a, b) => (a.tool.id < b.tool.id ? -1 : 1)));
      return sorted;
    },
  };
}

/** Remembers a success: synchronous from the second use on. A failure is tried again. */
function once(compile: () => MaybePromise<SchemaCheck>): () => MaybePromise<SchemaCheck> {
  let known: SchemaCheck | undefined;
  return () => {
    if (known) return known;
    const compiled = compile();
    if (typeof compiled === 'function') {
      known = compiled;
      return compiled;
    }
    return compiled.then((check) => {
      known = check;
      return check;
    });
  };
}

/** Nobody knows whether it has such a tool: that it has none would be a guess. */
function packIsDown(id: string, pack: string, { reason, message, details }: Failure): Failure {
  const told = reason === 'call.outcome_unknown' ? 'tool.unhealthy' : reason;
  return fail(told, `Cannot call "${shorten(id)}": the pack "${pack}" is not there: ${message}`, {
    ...details,
    pack,
    hint: `haft tools logs ${pack} shows what it wrote`,
  });
}

const shorten = (id: string) => (id.length > 80 ? `${id.slice(0, 80)}…` : id);

export function createToolNames(): ToolNames {
  let byId: ReadonlyMap<string, string> = new Map();
  let byName: ReadonlyMap<string, string> = new Map();
  return {
    nameOf: (id) => byId.get(id) ?? clientName(id),
    ownerOf: (name) => byName.get(name),
    recall(kept) {
      byId = kept;
      byName = new Map([...kept].map(([id, name]) => [name, id]));
    },
  };
}

export interface ListingSite {
  readonly registry: Registry;
  readonly installations: { quarantined(id: string): string | undefined };
  readonly effectSite: EffectSite;
}

/** By the policy of the host: what a session narrows is its own affair. */
export function listTools(
  { registry, installations, effectSite }: ListingSite,
  engine: PolicyEngine,
): readonly ToolListing[] {
  return registry.all().map(({ tool, name, origin }) => {
    const { decision } = engine.decide(tool.id, needsOf(tool, effectSite, engine));
    const quarantined = installations.quarantined(tool.id);
    const granted = decision.verdict !== 'deny';
    const lacks = tool.gate?.lacks() ?? [];
    const health = tool.gate?.health();
    return {
      contract: tool,
      ...(name === tool.id ? {} : { name }),
      origin,
      enabled: granted && quarantined === undefined && lacks.length === 0,
      ...(granted ? {} : decision.admit ? { admit: decision.admit } : { denied: decision.message }),
      ...(quarantined === undefined ? {} : { quarantined }),
      ...(lacks.length === 0 ? {} : { lacks }),
      ...(health ? { health } : {}),
    };
  });
}

/** What can only be decided once more is loaded is decided with the call. */
function needsOf(tool: AnyTool, site: EffectSite, engine: PolicyEngine) {
  const needs = tool.needs?.(site) ?? [];
  return engine.ready?.(needs) ? [] : needs;
}

const LONGEST = 64;
const HASH = 16;

/** `files.read_file` is `files-read_file`. What is too long is cut, and ends in `--` and a hash of the whole id. */
export function clientName(id: string): string {
  const name = id.replaceAll('.', '-');
  if (name.length <= LONGEST) return name;
  return `${name.slice(0, LONGEST - HASH - 2)}--${sha256Hex(id).slice(0, HASH)}`;
}
