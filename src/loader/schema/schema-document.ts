// Owns: what can be referred to in one document: its resources by `$id`, their anchors, and whose every schema is.
// Refuses: following references; see bundle-schema.

import { isRecord } from '../../base/is-record.ts';
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
    if (first && first.schema !== schema) {
      tell.error('schema.anchor', at, `${wayText(at)}: another schema has the anchor ${name} already`);
    }
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
export function resolveUri(reference: string, base: string): ResolvedUri | undefined {
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
