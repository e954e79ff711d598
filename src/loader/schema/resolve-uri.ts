// Owns: what a reference means where it stands: an absolute URI and a fragment.
// Refuses: getting what is there.

export interface ResolvedUri {
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
