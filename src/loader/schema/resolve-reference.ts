// Owns: where a reference leads: which document, which resource in it, which schema in that.
// Refuses: reading files; the site opens documents, or says why not.

import { closest } from '../../base/closest.ts';
import { isRecord } from '../../base/is-record.ts';
import { quoted } from '../../contract/diagnostic.ts';
import { describeFound } from '../yaml/located.ts';
import type { Way } from '../yaml/way.ts';
import { resolveUri, type SchemaDocument, type SchemaResource } from './schema-document.ts';

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
