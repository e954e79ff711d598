// Owns: the parts of an image's name, its one spelling, and which names an entry of a list of images stands for.
// Refuses: to ask anybody: a tag means what an engine says, and none is here.

/** Without digest and tag. The colon of a port is followed by a slash. */
export const repositoryOf = (reference: string): string =>
  reference.replace(/@.*$/, '').replace(/:[^/:]*$/, '');

/** `sha256:…` of a reference that has one. */
export const digestOf = (reference: string): string | undefined =>
  /(?:^|@)(sha256:[0-9a-f]{64})$/.exec(reference)?.[1];

/**
 * The name in full: Docker leaves `docker.io/library/` out of what it answers, Podman does not, and people write neither.
 * What begins with a host (a dot, a port, `localhost`) is in full already, and so is a bare digest.
 */
export function fullName(reference: string): string {
  if (/^sha256:[0-9a-f]{64}$/.test(reference)) return reference;
  const [first = '', ...rest] = reference.split('/');
  if (rest.length === 0) return `${HUB}/library/${reference}`;
  if (first === 'index.docker.io' || first === HUB)
    return rest.length === 1 && rest[0] !== '*' ? `${HUB}/library/${rest[0]}` : [HUB, ...rest].join('/');
  return /[.:]/.test(first) || first === 'localhost' ? reference : `${HUB}/${reference}`;
}

const HUB = 'docker.io';

/** Whether one of the names that an image goes by, tags and digests, is of the repository of this reference. */
export const goesBy = (reference: string, names: readonly string[]): boolean =>
  names.some((name) => repositoryOf(fullName(name)) === repositoryOf(fullName(reference)));

/**
 * An entry is a digest (`name@sha256:…`, `sha256:…`), which admits it under any name, since the bytes are the same; a tag
 * (`name:tag`); a repository (`registry/name`); or all below a prefix (`registry/*`). Of a digest the two last ones take
 * the name on trust, and engines may ignore it: whoever executes the image asks one for the names that it has (`goesBy`).
 */
export function admitsImage(entry: string, name: string): boolean {
  const digest = digestOf(entry);
  if (digest !== undefined) return digest === digestOf(name);
  if (name.startsWith('sha256:')) return false;
  const [wanted, given] = [fullName(entry), fullName(name)];
  if (wanted.endsWith('/*')) return given.startsWith(wanted.slice(0, -1));
  return given === wanted || repositoryOf(given) === wanted;
}
