// Owns: the parts of an image's name, and which names an entry of a list of images stands for.
// Refuses: to ask anybody: a tag means what an engine says, and none is here.

/** Without digest and tag. The colon of a port is followed by a slash. */
export const repositoryOf = (reference: string): string =>
  reference.replace(/@.*$/, '').replace(/:[^/:]*$/, '');

/** `sha256:…` of a reference that has one. */
export const digestOf = (reference: string): string | undefined =>
  /(?:^|@)(sha256:[0-9a-f]{64})$/.exec(reference)?.[1];

/**
 * An entry is a digest (`name@sha256:…`, `sha256:…`), which admits it under any name, since the bytes are the same; a tag
 * (`name:tag`); a repository (`registry/name`); or all below a prefix (`registry/*`).
 */
export function admitsImage(entry: string, name: string): boolean {
  const digest = digestOf(entry);
  if (digest !== undefined) return digest === digestOf(name);
  if (entry.endsWith('/*')) return name.startsWith(entry.slice(0, -1));
  return name === entry || (!name.startsWith('sha256:') && repositoryOf(name) === entry);
}
