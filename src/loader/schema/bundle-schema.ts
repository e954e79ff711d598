// Owns: making a schema whole: everything that it refers to becomes a part of its own `$defs`, recursion included.
// Refuses: copying what nobody refers to, and references that lead nowhere, for ever, or to what is no schema.
import { isRecord } from '../../base/is-record.ts';
import { quoted } from '../../contract/diagnostic.ts';
import { type Way, wayText } from '../yaml/way.ts';
import { DIALECT_URIS, type Dialect } from './dialect.ts';
import { eachSchema, keywordOf, mapSchemas } from './keywords.ts';
import type { Refusal, ResolveSite, SchemaDocument, SchemaResource, Target } from './schema-document.ts';
import { resolveReference } from './schema-document.ts';

type Schema = { readonly [name: string]: unknown };

/** More than this comes only from schemas that are made to grow. */
const MAX_DEFS = 5_000;

/** The schema without `$id`, anchors and references to elsewhere. Undefined where something was told to be wrong. */
export function bundleSchema(document: SchemaDocument, site: ResolveSite): unknown {
  const names = new Map<unknown, { readonly scope: Scope; readonly name: string }[]>();
  const defs = new Map<string, unknown>();
  const waiting: { readonly name: string; readonly target: Target; readonly scope: Scope }[] = [];
  const reached = new Map<string, SchemaResource>(document.resources);
  let { dialect } = document;
  let failed = false;

  const main = (): unknown => {
    const home = isRecord(document.root) ? document.homeOf(document.root) : undefined;
    const start = follow({ schema: document.root, resource: document.resource, way: home?.way });
    if (!start) return undefined;
    const root = emit(start.schema, start.resource, start.way, start.scope);
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { name, target, scope } = next;
      defs.set(name, emit(target.schema, target.resource, target.way, scope));
      if (defs.size <= MAX_DEFS) continue;
      const message = `${wayText(start.way)}: it refers to more than ${MAX_DEFS} schemas`;
      return refuse(document.resource, start.way, { code: 'ref.too_many', fact: message });
    }
    if (!isRecord(root) || failed) return root;
    const endless = findEndless(root, defs, dialect);
    if (endless !== undefined) {
      const fact = `${wayText(start.way)}: ${quoted(endless)} ${ENDLESS}`;
      refuse(document.resource, start.way, { code: 'ref.endless', fact });
    }
    const said = [document.root, start.schema].some((one) => isRecord(one) && Object.hasOwn(one, '$schema'));
    return {
      ...(said || dialect !== '2020-12' ? { $schema: DIALECT_URIS[dialect] } : {}),
      ...root,
      ...(defs.size > 0 ? { $defs: Object.fromEntries(defs) } : {}),
    };
  };

  /** A root that is nothing but a reference is what it refers to. */
  const follow = (first: Target): (Target & { readonly scope: Scope }) | undefined => {
    const seen = new Set<unknown>();
    let scope = enter(new Map(), first.resource);
    let at: Target = first;
    while (isRecord(at.schema) && isOnlyReference(at.schema)) {
      const { schema, resource } = at;
      const { $ref, $schema } = schema as { readonly $ref: string; readonly $schema?: string };
      if (isOwnMetaschema($ref)) break;
      const way: Way = { up: at.way, step: '$ref' };
      const home = resource.document.homeOf(schema as object)?.resource ?? resource;
      if (seen.has(schema)) {
        const fact = `${wayText(way)}: the reference leads back to itself`;
        return refuse(home, way, { code: 'ref.endless', fact });
      }
      seen.add(schema);
      const next = resolveReference($ref, home, reached, site);
      // What has not said its dialect speaks that of what it stands for.
      if (!('code' in next) && $schema === undefined) dialect = next.resource.document.dialect;
      const target = admit(next, $ref, home, way);
      if (!target) return undefined;
      scope = enter(scope, target.resource);
      at = target;
    }
    return { ...at, scope };
  };

  const emit = (schema: unknown, from: SchemaResource, way: Way | undefined, scope: Scope): unknown => {
    if (!isRecord(schema)) return schema;
    const resource = from.document.homeOf(schema)?.resource ?? from;
    const inner = enter(scope, resource);
    const out: [name: string, value: unknown][] = [];
    for (const name of Object.keys(schema)) {
      if (LEFT_OUT.has(name)) continue;
      if (dialect === 'draft-07' && Object.hasOwn(schema, '$ref') && !BESIDE_REF.has(name)) continue;
      const value = schema[name];
      const at: Way = { up: way, step: name };
      if (name === '$ref') out.push([name, refer(value as string, resource, at, inner)]);
      else if (name === '$dynamicRef' && dialect === '2020-12') {
        const $ref = refer(value as string, resource, at, inner, true);
        // Beside an ordinary reference, and beside an allOf, it needs a place of its own.
        if (Object.hasOwn(schema, '$ref')) out.push(['allOf', [{ $ref }]]);
        else out.push(['$ref', $ref]);
      } else {
        const holds = keywordOf(dialect, name)?.holds;
        const put = (one: unknown, step: string | number | undefined) =>
          emit(one, resource, step === undefined ? at : { up: at, step }, inner);
        out.push([name, holds ? mapSchemas(holds, value, put) : value]);
      }
    }
    return fromEntries(out);
  };

  /** The reference to write in place of one that was written. */
  const refer = (reference: string, from: SchemaResource, way: Way, scope: Scope, dynamic = false) => {
    if (isOwnMetaschema(reference)) return reference;
    const found = admit(resolveReference(reference, from, reached, site), reference, from, way);
    if (!found) return undefined;
    const target = dynamic ? inScope(found, scope) : found;
    const inner = enter(scope, target.resource);
    const known = names.get(target.schema) ?? [];
    const same = known.find((one) => sameScope(one.scope, inner));
    if (same) return `#/$defs/${same.name}`;
    const name = defName(reference, defs);
    names.set(target.schema, [...known, { scope: inner, name }]);
    defs.set(name, true);
    waiting.push({ name, target, scope: inner });
    return `#/$defs/${name}`;
  };

  const admit = (target: Target | Refusal, reference: string, from: SchemaResource, way: Way) => {
    const refusal = 'code' in target ? target : otherDialect(target.resource.document.dialect, dialect);
    if (!refusal) return target as Target;
    return refuse(from, way, { ...refusal, fact: `${wayText(way)}: ${quoted(reference)} ${refusal.fact}` });
  };

  const refuse = (from: SchemaResource, way: Way | undefined, { code, fact, hint }: Refusal): undefined => {
    failed = true;
    from.document.tell.error(code, way, fact, hint);
  };

  /** The validator knows it by its name. */
  const isOwnMetaschema = (reference: string): boolean =>
    reference.replace(/#$/, '') === DIALECT_URIS[dialect].replace(/#$/, '');

  const whole = main();
  return failed ? undefined : whole;
}

const otherDialect = (theirs: string, ours: string): Refusal | undefined =>
  theirs === ours
    ? undefined
    : { code: 'ref.dialect', fact: `leads to a schema of ${theirs}, and this one is of ${ours}` };

/** A second allOf joins the first. */
function fromEntries(entries: readonly (readonly [string, unknown])[]): Schema {
  const all = entries.filter(([name]) => name === 'allOf').flatMap(([, value]) => value);
  const rest = Object.fromEntries(entries.filter(([name]) => name !== 'allOf'));
  return all.length > 0 ? { ...rest, allOf: all } : rest;
}

const isOnlyReference = (schema: Schema): boolean =>
  typeof schema.$ref === 'string' && Object.keys(schema).every((name) => ALONE.has(name));

const ENDLESS =
  'leads back to itself without looking at a part of the value, so that a check would never end';

/** They say how a schema is referred to, and in which words it is written: settled here. */
const LEFT_OUT = new Set([
  '$schema',
  '$id',
  '$anchor',
  '$dynamicAnchor',
  '$defs',
  'definitions',
  '$vocabulary',
]);
const ALONE = new Set(['$ref', '$comment', ...LEFT_OUT]);
/** Of draft-07, where everything else beside a reference is ignored. */
const BESIDE_REF = new Set(['$ref', '$comment', 'title', 'description', 'examples']);

/** The last part of the reference that says something, and a number where that is taken. */
function defName(reference: string, taken: { has(name: string): boolean }): string {
  const [path = '', fragment = ''] = reference.split('#');
  const last = (text: string) => text.split('/').at(-1) ?? '';
  const said = last(fragment) || last(path).replace(/(\.schema)?\.(json|ya?ml)$/, '') || 'self';
  const base = said.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 60) || 'def';
  let name = base;
  for (let count = 2; taken.has(name) || name === '__proto__'; count++) name = `${base}_${count}`;
  return name;
}

/** By the anchor's name: the schema that has it in the first resource on the way. Following references only adds to it. */
type Scope = ReadonlyMap<string, Target>;

/** The scope once this resource is entered. */
function enter(scope: Scope, resource: SchemaResource): Scope {
  let inner: Map<string, Target> | undefined;
  for (const [name, { schema, dynamic }] of resource.anchors) {
    if (!dynamic || scope.has(name)) continue;
    inner ??= new Map(scope);
    inner.set(name, { schema, resource, way: resource.document.homeOf(schema)?.way });
  }
  return inner ?? scope;
}

/** A dynamic reference whose first stop is a dynamic anchor goes on to the outermost one of that name. */
function inScope(target: Target, scope: Scope): Target {
  const { anchor, resource } = target;
  if (anchor === undefined || !resource.anchors.get(anchor)?.dynamic) return target;
  return scope.get(anchor) ?? target;
}

const sameScope = (a: Scope, b: Scope): boolean =>
  a === b || (a.size === b.size && [...a].every(([name, { schema }]) => b.get(name)?.schema === schema));

const PREFIX = '#/$defs/';

/** The name of a definition on the circle, or undefined where there is none. */
function findEndless(
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
