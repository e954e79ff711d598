// Owns: what a person at a terminal sees of a call: the file, the list, the matches, what a program printed; not the envelope.
// Refuses: to let a name, a file or a program move the cursor. Programs may colour what they print, and nothing else.

import { shownSize } from '../../base/shown-size.ts';
import type { CallResponse } from '../../contract/envelope.ts';
import type { JsonObject } from '../../contract/json.ts';
import { oneLine, printable } from '../../contract/terminal-text.ts';
import type { Io } from './command.ts';
import { fitTable, type Paint } from './terminal-style.ts';

export interface AnswerView {
  readonly io: Io;
  readonly args: JsonObject;
  readonly paint: Paint;
  /** Only the answer. */
  readonly quiet: boolean;
  /** Also the id of the call and how long it took. */
  readonly verbose: boolean;
  /** The field of the answer that readers want, by the tool's contract. */
  readonly textField: string | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: each knows the answer of its own tool
type Show = (data: any, view: AnswerView, response: CallResponse) => void;

export function showAnswer(response: CallResponse, view: AnswerView): void {
  const { io, quiet, verbose } = view;
  const [error] = response.errors;
  if (error) {
    // What a program had printed before it was ended.
    const { stdout, stderr } = error.details ?? {};
    program({ stdout: textOf(stdout), stderr: textOf(stderr) }, view, response);
  } else (VIEWS[response.tool] ?? anything)(response.data, view, response);
  if (!quiet) for (const { message } of response.warnings ?? []) io.err(`haft: ${message}\n`);
  if (verbose) io.err(`haft: ${response.callId}, ${response.tool}, ${Math.round(response.durationMs)} ms\n`);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const anything: Show = (data, view) => {
  const { io, textField, paint } = view;
  const shown = textField === undefined ? data : data?.[textField];
  if (typeof shown === 'string') return text(shown, data?.encoding, view);
  if (isTexts(shown)) return io.out(shown.map((one) => `${oneLine(one)}\n`).join(''));
  if (isRecords(shown))
    return put(io, fitTable(cellsOf(shown), headerOf(shown), { paint, columns: io.columns }));
  io.out(`${JSON.stringify(data, null, 2)}\n`);
};

/** What is no text is not for a screen. */
function text(content: string, encoding: unknown, { io, args }: AnswerView): void {
  if (encoding === 'base64')
    return io.err(
      `haft: ${typeof args.path === 'string' ? oneLine(args.path) : 'the answer'} is not text (${shownSize(Math.floor((content.length * 3) / 4))}); --json prints it as base64\n`,
    );
  io.out(ended(content));
}

/** The prompt belongs on a line of its own. */
const ended = (content: string): string =>
  content === '' || content.endsWith('\n') ? content : `${content}\n`;

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

type Row = Readonly<Record<string, unknown>>;
const isRecords = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'object' && one !== null);

const fieldsOf = (rows: readonly Row[]): string[] => [...new Set(rows.flatMap((row) => Object.keys(row)))];
const headerOf = (rows: readonly Row[]): string[] => fieldsOf(rows).map((name) => name.toUpperCase());
const cellsOf = (rows: readonly Row[]): string[][] =>
  rows.map((row) =>
    fieldsOf(rows).map((name) => {
      const value = row[name];
      return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
    }),
  );

const put = (io: Io, painted: string): void => io.bytes(Buffer.from(painted));

interface Match {
  readonly file: string;
  readonly line: number;
  readonly snippet: string;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

const grep: Show = ({ matches, files, counts }, { io, paint }) => {
  const name = (file: string) => paint('magenta', oneLine(file));
  const row = (file: string, line: number, mark: string, content: string) =>
    `${name(file)}${paint('dim', mark)}${paint('green', String(line))}${paint('dim', mark)}${printable(content).replaceAll('\n', '\n  ')}\n`;
  const lines: string[] = [];
  for (const { file, line, snippet, before = [], after = [] } of (matches ?? []) as readonly Match[]) {
    before.forEach((one, i) => void lines.push(row(file, line - before.length + i, '-', one)));
    lines.push(row(file, line, ':', snippet.replace(/\r?\n$/, '')));
    after.forEach((one, i) => void lines.push(row(file, line + 1 + i, '-', one)));
    if (before.length + after.length > 0) lines.push(`${paint('dim', '--')}\n`);
  }
  for (const file of files ?? []) lines.push(`${name(file)}\n`);
  for (const { file, count } of counts ?? []) lines.push(`${name(file)}${paint('dim', ':')}${count}\n`);
  put(io, lines.join(''));
};

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly stdout_artifact?: string;
  readonly stderr_artifact?: string;
  readonly limit?: string;
}

const program: Show = (printed: Printed, { io, quiet }) => {
  io.bytes(Buffer.from(coloured(printed.stdout)));
  io.errBytes(Buffer.from(coloured(printed.stderr)));
  const { stdout_artifact, stderr_artifact, limit } = printed;
  if (limit !== undefined) io.err(`haft: the command was ended by the limit on ${limit}\n`);
  if (quiet) return;
  for (const [what, id] of Object.entries({ stdout: stdout_artifact, stderr: stderr_artifact }))
    if (id !== undefined) io.err(`haft: ${what} was cut; "haft artifacts cat ${id}" prints all of it\n`);
};

/** Harmless, but for colours; they end with the text. */
function coloured(content: string): string {
  if (!content.includes('\x1b[')) return printable(content);
  const parts = content.split(SGR);
  return `${parts.map((part, i) => (i % 2 === 1 ? part : printable(part))).join('')}\x1b[0m`;
}

/** Colours and weights only: hidden text (8) is no colour. */
const SGR = /(\x1b\[(?:(?:[0-79]|[1-9]\d{1,2})?;?){0,16}m)/;

const changed =
  (said: (data: Row, args: JsonObject) => string): Show =>
  (data, { io, args, quiet }, { callId }) => {
    const { diff, not_kept = [] } = data as { diff?: string; not_kept?: readonly Row[] };
    if (diff) io.out(ended(diff));
    io.out(`${args.dry_run === true ? 'would have ' : ''}${said(data, args)}\n`);
    for (const { path, what, why } of not_kept) io.err(`haft: not kept: ${what} of ${path}: ${why}\n`);
    if (!quiet && args.dry_run !== true) io.err(`haft: "haft undo ${callId}" takes this back\n`);
  };

const named = (value: unknown): string => oneLine(typeof value === 'string' ? value : JSON.stringify(value));

const VIEWS: Readonly<Record<string, Show>> = {
  grep,
  shell_exec: program,
  file_write: changed(({ bytes }, { path }) => `written ${named(path)} (${shownSize(bytes as number)})`),
  fs_copy: changed((_, { src, dst }) => `copied ${named(src)} to ${named(dst)}`),
  fs_move: changed((_, { src, dst }) => `moved ${named(src)} to ${named(dst)}`),
  fs_delete: changed((_, { path }) => `deleted ${named(path)}`),
  file_patch: changed(({ files }) =>
    (files as readonly Row[])
      .map(({ path, change, hunks_applied }) => `${change} ${named(path)} (hunks: ${hunks_applied})`)
      .join('\n'),
  ),
  file_edit: changed(({ replacements }, { path }) => `edited ${named(path)} (places: ${replacements})`),
  proc_list: ({ processes }, { io, paint }) =>
    put(io, fitTable(cellsOf(processes), headerOf(processes), { paint, columns: io.columns })),
  curl(data, view) {
    const { status, url, body_b64 = '' } = data as { status: number; url: string; body_b64?: string };
    const body = Buffer.from(body_b64, 'base64');
    if (!view.quiet) view.io.err(`haft: ${status} from ${oneLine(url)}\n`);
    const isText = !body.includes(0);
    text(isText ? body.toString() : body_b64, isText ? 'utf-8' : 'base64', view);
  },
};
