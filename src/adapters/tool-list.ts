// Owns: what a list of tools of another program may be: how many, how deep their schemas, what their ids are; and who was left out, by id.
// Refuses: to take a part of a list that is too long: nobody could say which.
import { isNestedDeeper, MAX_DEPTH } from '../base/canonical-json.ts';
import { type Failure, fail } from '../contract/errors.ts';

/** Each of them is compiled, shown and held in memory. */
const MAX_TOOLS = 2_000;

/** What is written around a schema, where the whole of a tool is hashed. */
const AROUND = 8;
const MAX_SCHEMA_DEPTH = MAX_DEPTH - AROUND;

export function refuseTooMany(name: string, count: number): void {
  if (count <= MAX_TOOLS) return;
  throw unlisted(
    name,
    `it has ${count} or more, over the limit of ${MAX_TOOLS}; split it into several servers`,
  );
}

export const unlisted = (name: string, why: string): Failure =>
  fail('tool.unhealthy', `Cannot list the tools of "${name}": ${why}`);

/** What is wrong with the depth of a schema. */
export const depthFault = (tool: string, schema: unknown): string | undefined =>
  isNestedDeeper(schema, MAX_SCHEMA_DEPTH)
    ? `a schema of "${tool}" is nested more than ${MAX_SCHEMA_DEPTH} levels deep`
    : undefined;

/** Tools that a server has and that cannot be used: why, by the id that each would have. */
export interface LeftOut {
  readonly [id: string]: string;
}

export function leftOut(
  name: string,
  faulty: readonly { readonly tool: unknown; readonly fault: string }[],
  collisions: readonly { readonly id: string; readonly names: readonly string[] }[],
): LeftOut {
  const named = faulty.flatMap(({ tool, fault }) => {
    const own = (tool as { readonly name?: unknown } | null)?.name;
    return typeof own === 'string' && own !== '' ? [[toolId(name, own), fault] as const] : [];
  });
  const alike = collisions.map(
    ({ id, names }) => [id, `"${name}" has several tools of that name: ${shownNames(names)}`] as const,
  );
  return Object.fromEntries([...named, ...alike]);
}

const SHOWN = 10;

export const shownNames = (names: readonly string[]): string =>
  [...names.slice(0, SHOWN).map((one) => one.slice(0, 80)), ...(names.length > SHOWN ? ['…'] : [])].join(
    ', ',
  );

interface NamedTools<T> {
  /** By id. */
  readonly tools: ReadonlyMap<string, T>;
  /** Those whose ids collide: all of them, for none of them is the right one. */
  readonly collisions: readonly { readonly id: string; readonly names: readonly string[] }[];
}

export function nameTools<T>(
  installation: string,
  found: readonly T[],
  nameOf: (tool: T) => string,
): NamedTools<T> {
  const byId = new Map<string, T[]>();
  for (const tool of found) {
    const id = toolId(installation, nameOf(tool));
    byId.set(id, [...(byId.get(id) ?? []), tool]);
  }
  const tools = new Map<string, T>();
  const collisions: { id: string; names: string[] }[] = [];
  for (const [id, same] of byId) {
    if (same.length === 1) tools.set(id, same[0] as T);
    else collisions.push({ id, names: same.map(nameOf) });
  }
  return { tools, collisions };
}

/** `files` and `getFile-info.v2` become `files.get_file_info.v2`. */
export const toolId = (installation: string, name: string): string =>
  [installation, ...name.split('.')].map(segment).join('.');

function segment(text: string): string {
  const words = text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  return /^[a-z]/.test(words) ? words : `t_${words || 'x'}`;
}
