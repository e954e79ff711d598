// Owns: which dynamic anchors a schema sees on the way on which it was reached.
// Refuses: deciding at run time: a schema that is reached with two scopes is two schemas.
import type { Target } from './resolve-reference.ts';
import type { SchemaResource } from './schema-document.ts';

/** By the anchor's name: the schema that has it in the first resource on the way. Following references only adds to it. */
export type Scope = ReadonlyMap<string, Target>;

/** The scope once this resource is entered. */
export function enter(scope: Scope, resource: SchemaResource): Scope {
  let inner: Map<string, Target> | undefined;
  for (const [name, { schema, dynamic }] of resource.anchors) {
    if (!dynamic || scope.has(name)) continue;
    inner ??= new Map(scope);
    inner.set(name, { schema, resource, way: resource.document.homeOf(schema)?.way });
  }
  return inner ?? scope;
}

/** A dynamic reference whose first stop is a dynamic anchor goes on to the outermost one of that name. */
export function inScope(target: Target, scope: Scope): Target {
  const { anchor, resource } = target;
  if (anchor === undefined || !resource.anchors.get(anchor)?.dynamic) return target;
  return scope.get(anchor) ?? target;
}

export const sameScope = (a: Scope, b: Scope): boolean =>
  a === b || (a.size === b.size && [...a].every(([name, { schema }]) => b.get(name)?.schema === schema));
