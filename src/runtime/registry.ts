// Owns: which tools this runtime has, and their compiled schema checks.
// Refuses: two tools of one id, and compiling a schema before it is needed.
import { closest } from '../base/closest.ts';
import { fail } from '../contract/errors.ts';
import type { MaybePromise, SchemaCheck, SchemaCompiler } from '../contract/json.ts';
import type { AnyTool } from '../contract/tool.ts';

export interface RegisteredTool {
  readonly tool: AnyTool;
  readonly origin: string;
  checkInput(): MaybePromise<SchemaCheck>;
  checkOutput(): MaybePromise<SchemaCheck>;
}

export interface Registry {
  /** Throws `tool.unknown` with the nearest name. */
  find(id: string): RegisteredTool;
  get(id: string): RegisteredTool | undefined;
  all(): readonly RegisteredTool[];
  /** All of them, or none: throws `pack.invalid` where a name is taken. */
  add(tools: readonly OfferedTool[]): void;
  /** Takes away all that came from there. */
  remove(origin: string): void;
}

export interface OfferedTool {
  readonly tool: AnyTool;
  readonly origin: string;
}

export function createRegistry(tools: readonly OfferedTool[], schemas: SchemaCompiler): Registry {
  const byId = new Map<string, RegisteredTool>();
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
  };

  const add = (offered: readonly OfferedTool[]) => {
    refuseTaken(offered);
    for (const { tool, origin } of offered) {
      byId.set(tool.id, {
        tool,
        origin,
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
      for (const [id, registered] of byId) if (registered.origin === origin) byId.delete(id);
      sorted = undefined;
    },
    find(id) {
      const found = byId.get(id);
      if (found) return found;
      const near = closest(id, [...byId.keys()]);
      throw fail(
        'tool.unknown',
        `Cannot call "${shorten(id)}": no such tool${near ? `; did you mean "${near}"?` : ''}`,
      );
    },
    get: (id) => byId.get(id),
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
