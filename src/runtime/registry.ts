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
}

export function createRegistry(
  tools: readonly { readonly tool: AnyTool; readonly origin: string }[],
  schemas: SchemaCompiler,
): Registry {
  const byId = new Map<string, RegisteredTool>();
  for (const { tool, origin } of tools) {
    const other = byId.get(tool.id);
    if (other) {
      throw fail(
        'pack.invalid',
        `Cannot install "${tool.id}" from ${origin}: ${other.origin} has a tool of that name`,
      );
    }
    byId.set(tool.id, {
      tool,
      origin,
      checkInput: once(() => schemas.compile(tool.input, tool.id, 'input')),
      checkOutput: once(() => schemas.compile(tool.output, tool.id, 'output')),
    });
  }
  const sorted = Object.freeze([...byId.values()].sort((a, b) => (a.tool.id < b.tool.id ? -1 : 1)));
  return {
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
    all: () => sorted,
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
