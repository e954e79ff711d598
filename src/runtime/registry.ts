// Owns: which tools this runtime has, and their compiled schema checks.
// Refuses: two tools of one id, and compiling a schema before it is needed.
import { closest } from '../base/closest.ts';
import { fail } from '../contract/errors.ts';
import type { MaybePromise, SchemaCheck, SchemaCompiler } from '../contract/json.ts';
import type { ToolNames } from '../contract/runtime.ts';
import type { AnyTool } from '../contract/tool.ts';
import { createToolNames } from './tool-names.ts';

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
  /** Why nothing is known of the tools of a pack; undefined where they are. Whoever calls one is told. */
  miss(pack: string, why: string | undefined): void;
}

export interface OfferedTool {
  readonly tool: AnyTool;
  readonly origin: string;
}

export function createRegistry(
  tools: readonly OfferedTool[],
  schemas: SchemaCompiler,
  names: ToolNames = createToolNames(),
): Registry {
  const byId = new Map<string, RegisteredTool>();
  const idsByName = new Map<string, string>();
  /** By pack. */
  const missing = new Map<string, string>();
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
    miss(pack, why) {
      if (why === undefined) missing.delete(pack);
      else missing.set(pack, why);
    },
    find(id) {
      const found = byId.get(id);
      if (found) return found;
      const why = missing.get(id.split('.')[0] ?? '');
      if (why !== undefined) throw fail('tool.unknown', `Cannot call "${shorten(id)}": ${why}`);
      const near = closest(id, [...byId.keys()]);
      throw fail(
        'tool.unknown',
        `Cannot call "${shorten(id)}": no such tool${near ? `; did you mean "${near}"?` : ''}`,
      );
    },
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

const shorten = (id: string) => (id.length > 80 ? `${id.slice(0, 80)}…` : id);
