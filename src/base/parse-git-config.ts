// Owns: reading a file in git's configuration format, character by character as git 2.39 does.
// Refuses: to skip what it does not understand: such a file is not read at all.

export interface GitSetting {
  /** Section and name in lower case, a quoted part between them as written: `remote.Origin.url`. */
  readonly key: string;
  /** Absent for a name on its own, which git takes for true. */
  readonly value: string | undefined;
}

/** Every setting in order, or undefined where git would call it a bad config line. */
export function parseGitConfig(text: string): GitSetting[] | undefined {
  // Git reads strings that end at a NUL.
  if (text.includes('\0')) return undefined;
  const source = `${text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')}\n`;
  const settings: GitSetting[] = [];
  let section: string | undefined;
  for (let at = 0; at < source.length; ) {
    const blank = match(BLANK, source, at);
    const header = match(HEADER, source, at);
    const named = match(NAME, source, at);
    at += (blank ?? header ?? named)?.[0].length ?? 0;
    if (blank !== null) continue;
    if (header !== null) {
      const [, name = '', quoted] = header;
      section = name.toLowerCase() + (quoted === undefined ? '' : `.${quoted.replace(/\\(.)/gs, '$1')}`);
      continue;
    }
    if (named === null || section === undefined) return undefined;
    const key = `${section}.${named[1]!.toLowerCase()}`;
    const read = named[2] === '=' ? readValue(source, at) : { value: undefined, end: at };
    if (read === undefined) return undefined;
    settings.push({ key, value: read.value });
    at = read.end;
  }
  return settings;
}

const BLANK = /[ \t\n\r]+|[#;][^\n]*/y;
const HEADER = /\[([A-Za-z0-9.-]+)(?:[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]/y;
const NAME = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=|\n)/y;

function match(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(source);
}

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', b: '\b', n: '\n', '\\': '\\', '"': '"' };

function readValue(source: string, from: number): { value: string; end: number } | undefined {
  let value = '';
  let spaces = '';
  let quoted = false;
  for (let at = from; at < source.length; at++) {
    const char = source[at]!;
    if (char === '\n') return quoted ? undefined : { value, end: at + 1 };
    if (!quoted && /[ \t\r]/.test(char)) {
      if (value !== '') spaces += ' ';
      continue;
    }
    if (!quoted && (char === '#' || char === ';')) return { value, end: source.indexOf('\n', at) + 1 };
    value += spaces;
    spaces = '';
    if (char === '"') quoted = !quoted;
    else if (char === '\\') {
      const next = source[++at];
      if (next === '\n') continue;
      const escaped = ESCAPES[next ?? ''];
      if (escaped === undefined) return undefined;
      value += escaped;
    } else value += char;
  }
  return undefined;
}
