// Owns: finding a bundled schema that applies itself to the same value again: checking it would never end.
// Refuses: recursion into parts of the value, which is what recursive schemas are for.
import type { Dialect } from './dialect.ts';
import { eachSchema, isRecord, keywordOf } from './keywords.ts';

const PREFIX = '#/$defs/';

/** The name of a definition on the circle, or undefined where there is none. */
export function findEndless(
  root: unknown,
  defs: ReadonlyMap<string, unknown>,
  dialect: Dialect,
): string | undefined {
  const state = new Map<string, 'open' | 'done'>();
  // Not by recursion: a chain of definitions can be as long as a file.
  const stack = [...refsInPlace(root, dialect), ...defs.keys()].map((name) => ({ name, leave: false }));
  for (let at = stack.pop(); at; at = stack.pop()) {
    const { name, leave } = at;
    if (leave) state.set(name, 'done');
    if (leave || state.get(name) === 'done') continue;
    if (state.get(name) === 'open') return name;
    state.set(name, 'open');
    stack.push({ name, leave: true });
    for (const next of refsInPlace(defs.get(name), dialect)) {
      if (state.get(next) === 'open') return next;
      stack.push({ name: next, leave: false });
    }
  }
  return undefined;
}

/** The definitions that a schema applies to the very value that it is applied to. */
function refsInPlace(schema: unknown, dialect: Dialect): string[] {
  if (!isRecord(schema)) return [];
  const found: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (name === '$ref' && typeof value === 'string' && value.startsWith(PREFIX)) {
      found.push(value.slice(PREFIX.length));
      continue;
    }
    const keyword = keywordOf(dialect, name);
    if (!keyword?.holds || !keyword.inPlace) continue;
    eachSchema(keyword.holds, value, (inner) => found.push(...refsInPlace(inner, dialect)));
  }
  return found;
}
