// Owns: where in a toolpack something went wrong: the file, line and column that Node.js says in one of its several ways.
// Refuses: places outside of the pack, which nobody can put right there.

export interface ThrownPlace {
  /** Relative to the pack's folder. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The text of a file of the pack. */
export type SourceOf = (file: string) => string | undefined;

/** `trace` is an error's stack, or what a process that it ended printed. Undefined where it names no file of the pack. */
export function whereThrown(trace: string, folder: string, sourceOf: SourceOf): ThrownPlace | undefined {
  return atMark(trace, folder) ?? atFrame(trace, folder) ?? atImport(trace, folder, sourceOf);
}

const inFolder = (folder: string): string =>
  `(?:file://)?${folder.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}/`;

/** A syntax error: the file and line, lines of the source, and below the last of them marks at the column. */
function atMark(trace: string, folder: string): ThrownPlace | undefined {
  const found = new RegExp(`^${inFolder(folder)}([^\\n]+):(\\d+)\\n([\\s\\S]*?\\n)?([ \\t]*)\\^`, 'm').exec(
    trace,
  );
  if (!found) return undefined;
  const [, file = '', line, , before = ''] = found;
  return { file, line: Number(line), column: before.length + 1 };
}

/** Anything that was thrown while code of the pack ran: the innermost frame that is its own. */
function atFrame(trace: string, folder: string): ThrownPlace | undefined {
  const found = new RegExp(`^\\s+at .*?${inFolder(folder)}([^\\n]+?):(\\d+):(\\d+)\\)?$`, 'm').exec(trace);
  if (!found) return undefined;
  const [, file = '', line, column] = found;
  return { file, line: Number(line), column: Number(column) };
}

/** An import that leads nowhere: the file that asks is named, and in it the text that it asks with. */
function atImport(trace: string, folder: string, sourceOf: SourceOf): ThrownPlace | undefined {
  const found = new RegExp(
    `Cannot find (?:package|module) '([^'\\n]+)' imported from ${inFolder(folder)}([^\\n]+)`,
  ).exec(trace);
  if (!found) return undefined;
  const [, asked = '', file = ''] = found;
  const name = asked.slice(asked.lastIndexOf('/') + 1);
  const source = sourceOf(file);
  if (source === undefined) return undefined;
  const quoted = new RegExp(`(['"])[^'"\\n]*${name.replaceAll(/[^\w]/g, '.')}[^'"\\n]*\\1`).exec(source);
  const before = source.slice(0, quoted?.index ?? 0).split('\n');
  return { file, line: before.length, column: (before.at(-1) ?? '').length + 1 };
}
