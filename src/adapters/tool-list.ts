// Owns: what a list of tools of another program may be: how many, how deep their schemas, what their ids are, without secrets; and who was left out, by id.
// Refuses: to take a part of a list that is too long: nobody could say which.
import { isNestedDeeper, MAX_DEPTH } from '../base/canonical-json.ts';
import { isRecord } from '../base/is-record.ts';
import type { Redactor } from '../base/redact/create-redactor.ts';
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

interface UsableOptions {
  /** Of the secrets that the server was given. */
  readonly redactor: Redactor | undefined;
  /** The fields of a tool that are schemas. */
  readonly schemas: readonly string[];
  /** Why a tool cannot be used, whatever it shows. */
  faultOf(tool: unknown): string | undefined;
}

interface UsableTools<T> {
  readonly usable: readonly T[];
  /** One sentence for each that is none of them. */
  readonly problems: string[];
  readonly faulty: readonly { readonly tool: unknown; readonly fault: string }[];
}

/**
 * Nobody sees more of a list than this: in words a secret is redacted, and a tool that would be another one without it
 * is left out.
 */
export function usableTools<T>(
  name: string,
  listed: readonly unknown[],
  { redactor, schemas, faultOf }: UsableOptions,
): UsableTools<T> {
  const usable: T[] = [];
  const faulty: { tool: unknown; fault: string }[] = [];
  for (const tool of listed) {
    const own = isRecord(tool) ? tool.name : undefined;
    const isNamed = typeof own === 'string' && (!redactor || redactor.text(own) === own);
    const fault = faultOf(tool);
    const shown = redactor && fault === undefined ? redactor.value(tool as Listed) : (tool as Listed);
    const why =
      fault !== undefined
        ? (redactor?.text(fault) ?? fault)
        : !isNamed
          ? 'its name holds a secret that the server was given'
          : schemas.every((field) => isSameSchema((tool as Listed)[field], shown[field]))
            ? undefined
            : `a schema of "${own}" holds a secret that the server was given`;
    if (why === undefined) usable.push(shown as T);
    // An id is made of a name by other letters, in which no secret would be found.
    else faulty.push({ tool: isNamed ? tool : undefined, fault: why });
  }
  const problems = faulty.map(({ fault }) => `"${name}" has a tool that cannot be used: ${fault}`);
  return { usable, problems, faulty };
}

type Listed = Readonly<Record<string, unknown>>;

/** Keywords that say something to readers, and nothing to a check. */
const WORDS = new Set(['title', 'description', '$comment', 'examples']);
/** Keywords below which any key is somebody's name for a schema. */
const NAMING = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const VALUES = new Set(['const', 'enum', 'default']);

/** Whether they mean the same: they may differ in words for readers alone. */
function isSameSchema(a: unknown, b: unknown, keys: 'keywords' | 'names' | 'values' = 'keywords'): boolean {
  if (Array.isArray(a))
    return (
      Array.isArray(b) &&
      a.every((item, at) => isSameSchema(item, b[at], keys === 'values' ? keys : 'keywords'))
    );
  if (!isRecord(a) || !isRecord(b)) return a === b;
  const [before, after] = [Object.keys(a), Object.keys(b)];
  if (before.length !== after.length || before.some((key) => !Object.hasOwn(b, key))) return false;
  return before.every((key) => {
    if (keys !== 'keywords') return isSameSchema(a[key], b[key], keys === 'values' ? keys : 'keywords');
    if (WORDS.has(key)) return true;
    return isSameSchema(a[key], b[key], VALUES.has(key) ? 'values' : NAMING.has(key) ? 'names' : 'keywords');
  });
}

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
