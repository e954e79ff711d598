// Owns: what a bundled schema is called in `$defs`.
// Refuses: two of the same name.

/** The last part of the reference that says something, and a number where that is taken. */
export function defName(reference: string, taken: { has(name: string): boolean }): string {
  const [path = '', fragment = ''] = reference.split('#');
  const last = (text: string) => text.split('/').at(-1) ?? '';
  const said = last(fragment) || last(path).replace(/(\.schema)?\.(json|ya?ml)$/, '') || 'self';
  const base = said.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 60) || 'def';
  let name = base;
  for (let count = 2; taken.has(name) || name === '__proto__'; count++) name = `${base}_${count}`;
  return name;
}
