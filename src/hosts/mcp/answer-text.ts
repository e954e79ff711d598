// Owns: the answers of builtins as text that a model reads at a glance: a file, matches, what a program printed, what was changed.
// Refuses: tools that it does not know: theirs is the field that their contract names, or JSON.
import { isUtf8 } from 'node:buffer';
import type { JsonObject } from '../../contract/json.ts';
import type { ToolContract } from '../../contract/tool.ts';

export interface AnswerText {
  readonly text: string;
  /** Of the answer's fields, those that the text holds. Undefined: all of them. */
  readonly shows?: readonly string[];
}

// biome-ignore lint/suspicious/noExplicitAny: each text knows the answer of its own tool, which was checked against its schema
type Data = Readonly<Record<string, any>>;

/** `args` are those of the call. */
export function answerText(tool: ToolContract | undefined, data: Data, args: JsonObject): AnswerText {
  const asked = args as Data;
  if (data.dry_run === true && Array.isArray(data.changes)) return { text: plan(data), shows: ['diff'] };
  const known = tool && Object.hasOwn(TEXTS, tool.id) ? TEXTS[tool.id]!(data, asked) : undefined;
  if (known) return known;
  const field = tool?.textField;
  const shown = field === undefined ? undefined : data[field];
  const isSaid = shown !== '' || Object.keys(data).length === 1;
  if (typeof shown === 'string' && isSaid) return { text: shown, shows: [field!] };
  if (isLines(shown)) return { text: shown.join('\n'), shows: [field!] };
  return { text: JSON.stringify(data) };
}

const isLines = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

/** A name with a line break in it would read as two: such a one is written as JSON. */
const oneLine = (name: string): string => (/[\x00-\x1f\x7f]/.test(name) ? JSON.stringify(name) : name);

/** Small answers are said in the text and kept whole beside it. */
const said = (text: string): AnswerText => ({ text, shows: [] });

type Text = (data: Data, args: Data) => AnswerText | undefined;

/** A tool of a program's own may have this name, too: it is known by its fields. */
const having =
  (fields: readonly string[], text: Text): Text =>
  (data, args) =>
    fields.every((field) => field in data) ? text(data, args) : undefined;

const TEXTS: { readonly [tool: string]: Text } = {
  file_read: content,
  artifact_get: ({ entries, ...data }) =>
    entries
      ? { text: entries.map(entry).join('\n') || '(an empty tree)', shows: ['entries'] }
      : content(data),
  artifact_import: ({ artifact, kind, size, files }) =>
    said(`${artifact} (${kind === 'tree' ? `tree, ${files} files` : 'file'}, ${size} bytes)`),
  artifact_list: ({ artifacts }) => ({
    text:
      artifacts
        .map(({ artifact, kind, size, created, label }: Data) =>
          [artifact, kind, `${size} bytes`, created, ...(label ? [label] : [])].join('  '),
        )
        .join('\n') || '(no artifacts)',
    shows: ['artifacts'],
  }),
  fs_list: ({ files }) => ({ text: files.map(oneLine).join('\n') || '(no files)', shows: ['files'] }),
  grep: ({ matches, files, counts }) => ({
    text: grepLines(matches ?? [], files ?? [], counts ?? []).join('\n') || '(no matches)',
    shows: ['matches', 'files', 'counts'],
  }),
  proc_list: ({ processes }) => ({
    text: [
      'PID PPID USER CPU% MEM_MB STARTED CMD',
      ...processes.map(({ pid, ppid, user, cpu, mem_mb, started, cmd }: Data) =>
        [pid, ppid, user, cpu, mem_mb, started, oneLine(cmd)].join(' '),
      ),
    ].join('\n'),
    shows: ['processes'],
  }),
  shell_exec: (data) => ({ text: program(data), shows: ['stdout', 'stderr'] }),
  shell_start: having(['shell_id'], ({ shell_id }) =>
    said(`Started ${shell_id}; shell_read shows what it prints`),
  ),
  shell_read: having(['output', 'next', 'running'], (data) => ({ text: printed(data), shows: ['output'] })),
  curl: response,
  file_write: ({ created, bytes, sha256 }, { path }) =>
    said(`${created ? 'Created' : 'Replaced'} ${oneLine(path)} (${bytes} bytes, sha256 ${sha256})`),
  file_edit: having(['replacements', 'lines', 'sha256'], ({ replacements, lines, sha256 }, { path }) =>
    said(`Edited ${oneLine(path)}: ${counted(replacements, 'replacement')}${at(lines)} (sha256 ${sha256})`),
  ),
  file_patch: ({ files }) => said(files.map(patched).join('\n')),
  fs_copy: (_, { src, dst }) => said(`Copied ${oneLine(src)} to ${oneLine(dst)}`),
  fs_move: (_, { src, dst }) => said(`Moved ${oneLine(src)} to ${oneLine(dst)}`),
  fs_delete: ({ deleted }, { path }) =>
    said(deleted ? `Deleted ${oneLine(path)}` : `Nothing was there to delete: ${oneLine(path)}`),
  undo: ({ restored = [], removed = [] }) =>
    said(
      [
        ...restored.map((path: string) => `Restored ${oneLine(path)}`),
        ...removed.map((path: string) => `Removed ${oneLine(path)}`),
      ].join('\n') || 'Nothing to restore',
    ),
};

function content({ content: text, encoding, ...range }: Data): AnswerText {
  if (encoding === 'base64')
    return { text: `[not text: ${range.size} bytes, as base64]\n${text}`, shows: ['content'] };
  return { text, shows: ['content'] };
}

const entry = ({ path, type, size }: Data): string =>
  type === 'dir' ? `${oneLine(path)}/` : `${oneLine(path)}  ${size} bytes`;

/** As grep -n prints them: `file:line:text`, and `-` for lines around a match. */
function grepLines(
  matches: readonly Data[],
  files: readonly string[],
  counts: readonly Data[],
): readonly string[] {
  const lines: string[] = [];
  for (const { file: path, line, snippet, before = [], after = [], end_line = line } of matches) {
    const file = oneLine(path);
    const around = (texts: readonly string[], first: number) =>
      texts.map((text, i) => `${file}-${first + i}-${text}`);
    lines.push(...around(before, line - before.length));
    lines.push(`${file}:${line}:${snippet.replace(/\r?\n$/, '')}`);
    lines.push(...around(after, end_line + 1));
    if (before.length + after.length > 0) lines.push('--');
  }
  if (lines.at(-1) === '--') lines.pop();
  return [...lines, ...files.map(oneLine), ...counts.map(({ file, count }) => `${oneLine(file)}:${count}`)];
}

/** What it printed, and only what is not as usual beside it. */
function program({ stdout, stderr, code, signal, limit, connections }: Data): string {
  const refused = (connections as readonly Data[]).filter(({ outcome }) => outcome !== 'done');
  const parts = [
    ...(stdout === '' ? [] : [stdout.replace(/\n$/, '')]),
    ...(stderr === '' ? [] : ['[stderr]', stderr.replace(/\n$/, '')]),
    ...(limit ? [`[ended by the limit on ${limit}]`] : []),
    ...refused.map(connection),
    ...(code === 0 ? [] : [signal ? `[ended by ${signal}]` : `[exit code ${code}]`]),
  ];
  return parts.join('\n') || '(no output)';
}

/** What a background shell printed, and from where to read on. */
function printed({ output, next, lost, more, running, ...end }: Data): string {
  let text = lost > 0 ? `[${lost} bytes before this are gone]\n` : '';
  let last = 'stdout';
  for (const piece of output as readonly Data[]) {
    if (piece.stream !== last) text = `${onNewLine(text)}[${piece.stream}]\n`;
    last = piece.stream;
    text += piece.text;
  }
  const how = end.ended?.message ?? (end.signal ? `ended by ${end.signal}` : `exit code ${end.code}`);
  const state = running ? 'running' : how;
  return `${onNewLine(text)}[${state}; ${more ? 'there is more: ' : ''}read on with since ${next}]`;
}

const onNewLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

function connection({ host, port, outcome, message, admit }: Data): string {
  const said = `[connection to ${host}:${port}: ${message ?? outcome}]`;
  return admit ? `${said}\n[the user can allow it by adding to haft.yaml:]\n${admit.trimEnd()}` : said;
}

function response({ status, url, headers, body_b64, redirects, artifact }: Data): AnswerText {
  const body = Buffer.from(body_b64, 'base64');
  const isText = isUtf8(body) && !body.includes(0);
  const head = Object.entries(headers as Data).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name}: ${one}`),
  );
  const lines = [
    ...redirects.map((one: Data) => `HTTP ${one.status} ${one.url}`),
    `HTTP ${status} ${url}`,
    ...head,
    ...(artifact ? [`[whole body: ${artifact.id}, ${artifact.size} bytes]`] : []),
    '',
    isText ? body.toString() : `[not text: ${body.length} bytes, as base64]\n${body_b64}`,
  ];
  return { text: lines.join('\n'), shows: ['headers', 'body_b64'] };
}

const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

const at = (lines: readonly number[] = []): string =>
  lines.length === 0 ? '' : ` at line ${lines.slice(0, 20).join(', ')}${lines.length > 20 ? ', …' : ''}`;

function patched({ path, change, from, hunks_applied, moved = [], sha256 }: Data): string {
  const places = moved.map(({ hunk, line }: Data) => `hunk ${hunk} at line ${line}, not where it said`);
  const facts = [counted(hunks_applied, 'hunk'), ...places, ...(sha256 ? [`sha256 ${sha256}`] : [])];
  return `${DONE[change] ?? change} ${fromTo(path, from)} (${facts.join('; ')})`;
}

const fromTo = (path: string, from?: string): string =>
  from === undefined ? oneLine(path) : `${oneLine(from)} to ${oneLine(path)}`;

const DONE: { readonly [change: string]: string } = {
  modify: 'Modified',
  create: 'Created',
  delete: 'Deleted',
  rename: 'Renamed',
  copy: 'Copied',
};

function plan({ changes, diff }: Data): string {
  const lines = changes.map(({ path, change, from }: Data) => `would ${change} ${fromTo(path, from)}`);
  return ['Dry run, nothing was changed:', ...lines, ...(diff ? [diff.trimEnd()] : [])].join('\n');
}
