// Owns: which words of a haft.yaml may name a pack, read from its text without a parser.
// Refuses: to miss one: where the text is not laid out as people lay it out, every word in it counts.

/** Words of the `packs:` section that could be paths, in no particular order. */
export function packWords(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  // Keys on lines of their own; anything else (one line of JSON, a quoted or escaped key, tags, several documents) counts whole.
  const plain =
    lines.some((line) => /^[A-Za-z_]/.test(line)) &&
    lines.every((line) => /^(?:[\s#\]}]|-(?:\s|$)|---\s*$|[A-Za-z_][\w-]*:(?:\s|$)|$)/.test(line));
  let inside = !plain;
  const words = new Set<string>();
  for (const line of lines) {
    if (plain && /^[A-Za-z_]/.test(line)) inside = line.startsWith('packs:');
    if (!inside) continue;
    for (const [, double, single, bare] of line.matchAll(WORD)) {
      const word = double?.replace(/\\(.)/g, '$1') ?? single?.replaceAll("''", "'") ?? bare?.trim();
      if (word && word.length <= 4096 && !word.includes('\0')) words.add(word);
    }
  }
  return [...words];
}

/** A quoted text, or what stands between the signs of YAML. */
const WORD = /"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s,[\]{}"'#:-](?:[^,[\]{}#:]|:(?!\s|$))*)/g;
