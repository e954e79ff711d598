// Owns: which words of a haft.yaml may name a pack, read from its text without a parser.
// Refuses: to miss one: what is spelt in a way that only a parser of YAML understands is said to be unclear.

/**
 * Words of the `packs:` section that could be paths, in no particular order. Undefined where they cannot be told: anchors, tags,
 * escapes, texts of several lines, and whatever else may make a name of something that does not look like it.
 */
export function packWords(text: string): readonly string[] | undefined {
  const lines = text
    .replace(/^\uFEFF/, '')
    .replace(/^---[ \t]*(?=[\r\n])/, '')
    .split(/\r?\n/);
  // Keys on lines of their own; anything else (one line of JSON, a quoted or escaped key, several documents) counts whole.
  const plain =
    lines.some((line) => /^[A-Za-z_]/.test(line)) &&
    lines.every((line) => /^(?:[\s#\]}]|-(?:\s|$)|[A-Za-z_][\w-]*:(?:\s|$)|$)/.test(line));
  if (!plain) return wordsOf(lines);
  let inside = false;
  const section = lines.filter((line) => {
    if (/^[A-Za-z_]/.test(line)) inside = line.startsWith('packs:');
    return inside;
  });
  return wordsOf(section);
}

/** What lines may hold: signs of YAML, a comment, a quoted text without escapes, or a bare one of harmless characters. */
const TOKEN =
  /[ \t]+|([[\]{},])|(-(?=[ \t]|$)|:(?=[ \t,[\]{}]|$))|(?:^|(?<=[ \t]))#.*$|"([^"\\]*)"|'((?:[^']|'')*)'|([\p{L}\p{M}\p{N}_./@+=~^$(][\p{L}\p{M}\p{N}_./@+=~^$()%;-]*(?:(?:[ \t]+|:)[\p{L}\p{M}\p{N}_./@+=~^$()%;-]+)*)/uy;

function wordsOf(lines: readonly string[]): readonly string[] | undefined {
  const words = new Set<string>();
  const brackets: string[] = [];
  /** A text that nothing has ended yet: what stands deeper behind it would be a part of it. */
  let open = false;
  let isWord = false;
  const columns = { dash: -1, key: -1 };
  for (const line of lines) {
    TOKEN.lastIndex = 0;
    // Nothing, or nothing but dashes, stands before it.
    for (let first = true; TOKEN.lastIndex < line.length; ) {
      const column = TOKEN.lastIndex;
      const found = TOKEN.exec(line);
      if (!found) return undefined;
      const [whole, flow, sign, double, single, bare] = found;
      const word = double ?? single?.replaceAll("''", "'") ?? bare;
      const next = (kind: 'dash' | 'key') => !open || (first && column <= columns[kind]);
      const inFlow = brackets.length > 0;
      if (flow === '[' || flow === '{') {
        if (open) return undefined;
        brackets.push(flow === '[' ? ']' : '}');
      } else if (flow !== undefined) {
        // Outside of brackets these are letters like others.
        if (!inFlow || (flow !== ',' && brackets.pop() !== flow)) return undefined;
        open = flow !== ',';
      } else if (sign === '-') {
        if (inFlow || !first || !next('dash')) return undefined;
        columns.dash = column;
        open = false;
      } else if (sign === ':') {
        if (!isWord) return undefined;
        open = false;
      } else if (word !== undefined) {
        const isKey = !inFlow && /^[ \t]*:(?:[ \t]|$)/.test(line.slice(TOKEN.lastIndex));
        if (isKey ? !first || !next('key') : open) return undefined;
        if (isKey) columns.key = column;
        if (word.length > 4096 || word.includes('\0')) return undefined;
        words.add(word);
        open = true;
      }
      if (whole.trim() === '') continue;
      isWord = word !== undefined;
      if (sign !== '-') first = false;
    }
  }
  return brackets.length > 0 ? undefined : [...words].filter((word) => word !== '');
}
