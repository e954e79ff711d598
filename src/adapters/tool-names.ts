// Owns: which id a tool of another program gets here: the installation's name and the tool's own, in our letters.
// Refuses: numbers at the end, and any look at other installations: an id depends on nothing but the two names.

export interface NamedTools<T> {
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
