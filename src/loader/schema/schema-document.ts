// Owns: what can be referred to in one document (resources by `$id`, anchors, whose every schema is), and where a reference leads.
// Refuses: to make anything whole; see bundle-schema.ts.
import { closest } from '../../base/closest.ts';
import { isRecord } from '../../base/is-record.ts';
import { quoted } from '../../contract/diagnostic.ts';
import { describeFound } from '../yaml/located.ts';
import type { Teller } from '../yaml/problem.ts';
import { type Way, wayText } from '../yaml/way.ts';
import type { Dialect } from './dialect.ts';
import { eachSchema, keywordOf } from './keywords.ts';

/** A schema, and everything in it, as it was read from one file. */
export interface SchemaDocument {
  /** Where it was read from; references in it are relative to this. */
  readonly uri: string;
  readonly dialect: Dialect;
  /** The schema itself: the whole file, or a part of it. */
  readonly root: unknown;
  readonly resource: SchemaResource;
  readonly resources: ReadonlyMap<string, SchemaResource>;
  readonly tell: Teller;
  /** Whose it is, and the way to it. Schemas are known by their identity; true and false have none. */
  homeOf(schema: object): SchemaHome | undefined;
  /** Looks at a schema in a place where the dialect expects none. */
  adopt(schema: object, home: SchemaHome): void;
}

/** A schema with an identity of its own, and what lies below it up to the next one. */
export interface SchemaResource {
  readonly uri: string;
  readonly root: unknown;
  readonly document: SchemaDocument;
  readonly anchors: Map<string, Anchor>;
}

interface Anchor {
  readonly schema: object;
  readonly dynamic: boolean;
}

interface SchemaHome {
  readonly resource: SchemaResource;
  readonly way: Way | undefined;
}

export interface DocumentSource {
  readonly uri: string;
  readonly root: unknown;
  readonly dialect: Dialect;
  readonly tell: Teller;
  /** The way to the root, where that is a part of a file. */
  readonly way?: Way | undefined;
}

export function indexDocument({ uri, root, dialect, tell, way }: DocumentSource): SchemaDocument {
  const resources = new Map<string, SchemaResource>();
  const homes = new Map<object, SchemaHome>();

  const visit = (schema: unknown, home: SchemaHome): void => {
    if (!isRecord(schema) || homes.has(schema)) return;
    const inner = { resource: enter(schema, home), way: home.way };
    homes.set(schema, inner);
    for (const [name, value] of Object.entries(schema)) {
      const keyword = keywordOf(dialect, name);
      if (!keyword?.holds || !keyword.fits(value)) continue;
      const at: Way = { up: home.way, step: name };
      eachSchema(keyword.holds, value, (one, step) =>
        visit(one, { resource: inner.resource, way: step === undefined ? at : { up: at, step } }),
      );
    }
  };

  /** The resource that begins with this schema, or the one around it. */
  const enter = (
    schema: { readonly [name: string]: unknown },
    { resource, way: at }: SchemaHome,
  ): SchemaResource => {
    // Before 2019-09 a reference hid everything beside it.
    const hidden = dialect === 'draft-07' && typeof schema.$ref === 'string';
    const own = hidden ? undefined : ownResource(schema, resource, at);
    const home = own ?? resource;
    if (dialect === '2020-12') {
      addAnchor(home, schema.$anchor, schema, false, at);
      addAnchor(home, schema.$dynamicAnchor, schema, true, at);
    } else if (!hidden && typeof schema.$id === 'string' && /^#./.test(schema.$id)) {
      addAnchor(home, schema.$id.slice(1), schema, false, at);
    }
    return home;
  };

  const ownResource = (
    schema: { readonly [name: string]: unknown },
    around: SchemaResource,
    at: Way | undefined,
  ): SchemaResource | undefined => {
    if (typeof schema.$id !== 'string' || schema.$id.startsWith('#')) return undefined;
    const absolute = resolveUri(schema.$id, around.uri)?.uri;
    if (absolute === undefined) {
      tell.error('schema.id', { up: at, step: '$id' }, `${wayText(at)}: this $id is not a URI`);
      return undefined;
    }
    if (schema === root && absolute === around.uri) return undefined;
    if (resources.has(absolute) && absolute !== uri) {
      tell.error('schema.id', { up: at, step: '$id' }, `${wayText(at)}: another schema has this $id already`);
      return undefined;
    }
    const resource: SchemaResource = { uri: absolute, root: schema, document, anchors: new Map() };
    resources.set(absolute, resource);
    return resource;
  };

  const addAnchor = (
    { anchors }: SchemaResource,
    name: unknown,
    schema: object,
    dynamic: boolean,
    at: Way | undefined,
  ): void => {
    if (typeof name !== 'string') return;
    const first = anchors.get(name);
    if (first && first.schema !== schema)
      tell.error('schema.anchor', at, `${wayText(at)}: another schema has the anchor ${name} already`);
    anchors.set(name, { schema, dynamic: dynamic || (first?.dynamic ?? false) });
  };

  const document: SchemaDocument = {
    uri,
    dialect,
    root,
    tell,
    resources,
    get resource() {
      return (isRecord(root) && homes.get(root)?.resource) || around;
    },
    homeOf: (schema) => homes.get(schema),
    adopt: visit,
  };
  const around: SchemaResource = { uri, root, document, anchors: new Map() };
  resources.set(uri, around);
  visit(root, { resource: around, way });
  return document;
}

interface ResolvedUri {
  /** Without the fragment. */
  readonly uri: string;
  /** Decoded; '' is the whole document. */
  readonly fragment: string;
}

/** Undefined where it is no URI reference, or cannot be resolved against this base. */
function resolveUri(reference: string, base: string): ResolvedUri | undefined {
  const at = reference.indexOf('#');
  const path = at === -1 ? reference : reference.slice(0, at);
  const fragment = decode(at === -1 ? '' : reference.slice(at + 1));
  if (fragment === undefined) return undefined;
  if (path === '') return { uri: base, fragment };
  const url = URL.parse(path, base);
  return url ? { uri: url.href, fragment } : undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A schema that was referred to. */
export interface Target {
  readonly schema: unknown;
  readonly resource: SchemaResource;
  readonly way: Way | undefined;
  /** The name by which it was found, where it was an anchor. */
  readonly anchor?: string;
}

export interface Refusal {
  readonly code: string;
  /** Follows the reference in the message. */
  readonly fact: string;
  readonly hint?: string;
}

export interface ResolveSite {
  /** The document at `uri`, which is `reference` resolved against `base`. */
  open(uri: string, reference: string, base: SchemaDocument): SchemaDocument | Refusal;
  /** Holds a schema that lies where none was expected against the rules; false where it breaks them. */
  check(schema: unknown, way: Way | undefined, document: SchemaDocument): boolean;
}

/** `reached` grows by the resources of every document that is opened. */
export function resolveReference(
  reference: string,
  from: SchemaResource,
  reached: Map<string, SchemaResource>,
  site: ResolveSite,
): Target | Refusal {
  const resolved = resolveUri(reference, from.uri);
  if (!resolved) return { code: 'ref.invalid', fact: 'is not a reference' };
  const resource = reached.get(resolved.uri) ?? open(reference, resolved.uri, from, reached, site);
  if ('code' in resource) return resource;
  const { fragment } = resolved;
  return fragment === '' || fragment.startsWith('/')
    ? resolvePointer(fragment, resource, site)
    : resolveAnchor(fragment, resource);
}

function open(
  reference: string,
  uri: string,
  { uri: base, document }: SchemaResource,
  reached: Map<string, SchemaResource>,
  site: ResolveSite,
): SchemaResource | Refusal {
  let opened = site.open(uri, reference, document);
  // An $id gives a schema a name in the world; its files still lie beside each other.
  if ('code' in opened && base !== document.uri) {
    const beside = resolveUri(reference, document.uri)?.uri;
    const second =
      beside === undefined
        ? opened
        : (reached.get(beside)?.document ?? site.open(beside, reference, document));
    if (!('code' in second) || second.code !== 'ref.remote') opened = second;
  }
  if ('code' in opened) return opened;
  for (const [name, resource] of opened.resources) if (!reached.has(name)) reached.set(name, resource);
  reached.set(uri, opened.resource);
  return opened.resource;
}

function resolveAnchor(name: string, resource: SchemaResource): Target | Refusal {
  const anchor = resource.anchors.get(name);
  if (anchor) {
    const { schema } = anchor;
    return { schema, resource, way: resource.document.homeOf(schema)?.way, anchor: name };
  }
  const meant = closest(name, resource.anchors.keys());
  const hint = meant ? `did you mean #${meant}?` : 'a pointer begins with #/';
  return { code: 'ref.anchor', fact: `names no anchor of ${describe(resource)}`, hint };
}

function resolvePointer(pointer: string, start: SchemaResource, site: ResolveSite): Target | Refusal {
  const { document } = start;
  let resource = start;
  let at: unknown = start.root;
  let way = isRecord(at) ? document.homeOf(at)?.way : undefined;
  for (const token of pointer.split('/').slice(1)) {
    const step = token.replaceAll('~1', '/').replaceAll('~0', '~');
    const list = Array.isArray(at);
    if (!(list ? /^(0|[1-9]\d*)$/.test(step) : isRecord(at)) || !Object.hasOwn(at as object, step)) {
      const meant = isRecord(at) ? closest(step, Object.keys(at)) : undefined;
      const fact = `leads nowhere: there is no ${quoted(step)} in ${describe(start)}`;
      return { code: 'ref.pointer', fact, ...(meant ? { hint: `did you mean ${meant}?` } : {}) };
    }
    at = (at as { [step: string]: unknown })[step];
    way = { up: way, step: list ? Number(step) : step };
    if (isRecord(at)) resource = document.homeOf(at)?.resource ?? resource;
  }
  if (typeof at !== 'boolean' && !isRecord(at))
    return { code: 'ref.not_schema', fact: `leads to ${describeFound(at)}, which is no schema` };
  if (isRecord(at) && !document.homeOf(at)) {
    if (!site.check(at, way, document)) return { code: 'ref.not_schema', fact: 'leads to what is no schema' };
    document.adopt(at, { resource, way });
  }
  return { schema: at, resource, way };
}

const describe = ({ document, uri }: SchemaResource): string =>
  uri === document.uri ? 'the schema' : quoted(uri);
