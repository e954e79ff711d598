// Owns: what a session's registry does to the host's policy: it may only take away, and the smaller number holds.
// Refuses: grants of a session, even such as would have no effect. Rules of both are decided side by side.
import { fail } from '../contract/errors.ts';
import type { PolicyFile } from '../contract/policy.ts';
import { SECTIONS } from './sections/index.ts';

/** Throws `policy.widens` and names every key that would grant more than the host does. */
export function checkNarrowing(host: PolicyFile, session: PolicyFile): void {
  const keys = wideningKeys(host, session);
  if (keys.length === 0) return;
  const message = `Cannot open the session: its registry would grant more than the host does (${keys.join(', ')})`;
  throw fail('policy.widens', message, { keys });
}

/** Paths of the keys that widen; none where the registry only narrows. */
export function wideningKeys(host: PolicyFile, session: PolicyFile): readonly string[] {
  return SECTIONS.flatMap(({ key, written }) => {
    const value = session[key];
    if (value === undefined) return [];
    const { widening = () => [''] } = written();
    return widening(host[key], value).map((inner) => `${key}${inner}`);
  });
}

/** The numbers and switches that hold. */
export const narrowFile = (host: PolicyFile, narrowing: readonly PolicyFile[]): PolicyFile =>
  narrowing.reduce(narrow, host);

function narrow(host: PolicyFile, session: PolicyFile): PolicyFile {
  const narrowed: { [key: string]: unknown } = { ...host };
  for (const { key, narrow: narrows } of SECTIONS) {
    const own = session[key];
    const value = own === undefined ? undefined : narrows?.(host[key], own);
    if (value !== undefined && Object.keys(value).length > 0) narrowed[key] = value;
  }
  return narrowed as unknown as PolicyFile;
}
