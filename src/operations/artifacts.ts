// Owns: the operations on artifacts: keeping, reading, verifying and letting go of them.
// Refuses: to mend one: importing the same bytes again does. To write over anything.
import { isUtf8 } from 'node:buffer';
import { isDigest } from '../base/digest.ts';
import { shownSize } from '../base/shown-size.ts';
import type { Artifact, ArtifactStore, ArtifactVerdict, SweepReport } from '../contract/artifacts.ts';
import { SHORTEST_LEASE_MS } from '../contract/artifacts.ts';
import { explainError } from '../contract/error-remedies.ts';
import { ERRORS, type ErrorEntry, fail } from '../contract/errors.ts';
import type { ObjectId } from '../contract/object-store.ts';
import { type Argument, defineOperation, type OperationSite } from '../contract/operation.ts';
import { toWire } from '../contract/spelling.ts';
import { table } from '../contract/terminal-text.ts';
import {
  COUNT,
  count,
  document,
  duration,
  flag,
  list as listOf,
  local,
  optionalWord,
  TEXT,
  text,
  word,
  words,
  YES,
} from './schemas.ts';

interface Kept {
  readonly artifact: string;
  readonly kind: string;
  readonly size: number;
  readonly files: number;
}

/** The call of `artifact_import`: policy decides it, and it is recorded like any other. Of a pipe it is no call. */
export const artifactsImport = defineOperation<
  { readonly path: string },
  Kept | { readonly errors: readonly ErrorEntry[] }
>({
  id: 'artifacts.import',
  summary: 'Import a file, a folder or standard input as an artifact',
  usage: 'PATH | -',
  description:
    'Prints its id, which is its digest: equal bytes have equal ids, and are kept once. A path must lie in the workspace or an extra root of haft.yaml; what lies elsewhere can be piped.',
  examples: ['haft artifacts import data/reads.fastq', 'zcat /data/reads.fastq.gz | haft artifacts import -'],
  args: { path: word('a file or a folder') },
  result: document({}, { artifact: TEXT, kind: TEXT, size: COUNT, files: COUNT }),
  who: 'anyone',
  changes: true,
  async atTerminal({ path }, terminal, { runtime, record, progress }) {
    if (path !== '-') return { path: terminal.absolute(path) };
    const artifacts = await (await runtime()).artifacts();
    const {
      createdTs: _created,
      usedTs: _used,
      id,
      ...rest
    } = await artifacts.importStream(counted(terminal.stdin(), progress));
    await record('haft artifacts import', { artifact: id, size: rest.size });
    terminal.out(terminal.json ? `${JSON.stringify({ artifact: id, ...toWire(rest) })}\n` : `${id}\n`);
    return 0;
  },
  async run({ path }, { runtime, signal, progress }) {
    const call = { tool: 'artifact_import', args: { path } };
    progress({ message: `importing ${path}` });
    const { errors, data } = await (await runtime()).call(call, {
      signal: () => signal,
      onEvent: (event) => event.progress && progress(event.progress),
    });
    return errors.length > 0 ? { errors } : (data as unknown as Kept);
  },
  json: (kept) => ('errors' in kept ? { ok: false, errors: kept.errors } : kept),
  text(kept, { out, err, tty }) {
    if ('errors' in kept) {
      const [error] = kept.errors as readonly [ErrorEntry];
      err(explainError(error));
      if (error.reason === 'path.outside_workspace') err('  or pipe it: haft artifacts import - < FILE\n');
      return;
    }
    const { artifact, kind, files, size } = kept;
    out(`${artifact}\n`);
    if (tty) err(`${kind}, ${files} file${files === 1 ? '' : 's'}, ${shownSize(size)}\n`);
  },
  exit: (kept) => ('errors' in kept ? ERRORS[kept.errors[0]!.reason].exit : 0),
});

/** The same pieces, with how much came so far. */
async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  progress: OperationSite['progress'],
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    progress({ message: `read ${shownSize(size)}` });
    yield piece;
  }
}

export const artifactsList = defineOperation<{ readonly last: number }, readonly Artifact[]>({
  id: 'artifacts.list',
  summary: 'List the newest artifacts',
  examples: ['haft artifacts list', 'haft artifacts list --last 1000 --json'],
  args: { last: count(20, 'how many (default: 20)') },
  result: document({ artifacts: listOf('The newest first.') }),
  who: 'person',
  reads: true,
  run: async ({ last }, { runtime }) => (await (await runtime()).artifacts()).list({ limit: last }),
  json: (found) => ({ artifacts: found.map(artifactToWire) }),
  text(found, { out, time, table: show }) {
    if (found.length === 0) return out('No artifacts yet.\n');
    const rows = found.map(({ id, kind, files, size, createdTs, madeBy }) => [
      time(createdTs),
      kind === 'tree' ? `tree of ${files}` : kind,
      shownSize(size),
      madeBy ? `${madeBy.label} (${madeBy.type})` : '',
      id,
    ]);
    show(rows, ['WHEN', 'KIND', 'SIZE', 'LABEL', 'ARTIFACT']);
  },
});

const ARTIFACT: Argument = word('its id');

interface Shown {
  readonly artifact: Artifact;
  readonly entries?: Awaited<ReturnType<ArtifactStore['entries']>>;
}

export const artifactsShow = defineOperation<{ readonly artifact: string }, Shown>({
  id: 'artifacts.show',
  summary: 'Show one artifact',
  examples: ['haft artifacts show sha256:…'],
  args: { artifact: ARTIFACT },
  result: document(
    { artifact: TEXT, kind: TEXT, size: COUNT },
    { entries: listOf('Of a tree: what is in it.') },
  ),
  who: 'person',
  reads: true,
  async run(args, { runtime }) {
    const id = artifactId(args.artifact);
    const artifacts = await (await runtime()).artifacts();
    const artifact = await artifacts.get(id);
    if (!artifact) throw fail('artifact.unknown', `Cannot show ${id}: there is no such artifact`);
    return artifact.kind === 'tree' ? { artifact, entries: await artifacts.entries(id) } : { artifact };
  },
  json: ({ artifact, entries }) => ({ ...artifactToWire(artifact), ...(entries ? { entries } : {}) }),
  text({ artifact, entries }, { out, time }) {
    out(
      table([
        ['artifact', artifact.id],
        ['kind', artifact.kind === 'tree' ? `tree of ${artifact.files} files` : 'file'],
        ['size', `${shownSize(artifact.size)} (${artifact.size} bytes)`],
        ['first kept', time(artifact.createdTs)],
        ['last used', time(artifact.usedTs)],
        ...madeByRows(artifact),
      ]),
    );
    if (!entries) return;
    const rows = entries.map((one) =>
      one.type === 'dir'
        ? ['', '', `${one.path}/`]
        : [`sha256:${one.sha256}`, String(one.size), `${one.path}${one.executable ? '*' : ''}`],
    );
    out(`\n${table(rows)}`);
  },
});

function madeByRows({ madeBy }: Artifact): string[][] {
  if (!madeBy) return [];
  return [
    ['made by', `${madeBy.runId} as "${madeBy.role}"`],
    ['label', `${madeBy.label} (${madeBy.type})`],
  ];
}

interface CatArgs {
  readonly artifact: string;
  readonly path?: string;
  readonly to?: string;
  readonly range?: string;
}

export const artifactsCat = defineOperation<CatArgs, AsyncIterable<Uint8Array>>({
  id: 'artifacts.cat',
  summary: 'Print the content of an artifact, or copy it to a path',
  usage: 'ARTIFACT [PATH-IN-TREE] [--to PATH]',
  description: 'What is handed out was verified against the id. A tree is copied whole with --to.',
  examples: [
    'haft artifacts cat sha256:… | head',
    'haft artifacts cat sha256:… src/main.rs',
    'haft artifacts cat sha256:… --to results/',
  ],
  args: {
    artifact: ARTIFACT,
    path: optionalWord('of a tree: the file in it'),
    to: local(text('PATH', 'copy it there, read-only; nothing may be there yet')),
    range: text('START:END', 'only these bytes, END excluded'),
  },
  result: TEXT,
  answers: 'bytes',
  who: 'person',
  reads: true,
  async atTerminal(args, terminal, { runtime }) {
    const { to, path, range } = args;
    if (terminal.json && to === undefined)
      throw fail('usage', 'Cannot print content as JSON: take --to, or haft call artifact_get');
    if (to === undefined) return args;
    const id = artifactId(args.artifact);
    if (path !== undefined || range !== undefined)
      throw fail('usage', 'Cannot copy a part of an artifact: --to takes all of it');
    const artifacts = await (await runtime()).artifacts();
    await terminal.makeNew(to, (place) => artifacts.materialise(id, place));
    if (terminal.json) terminal.out(`${JSON.stringify({ artifact: id, to })}\n`);
    return 0;
  },
  async run({ artifact, path, range }, { runtime }) {
    const id = artifactId(artifact);
    const artifacts = await (await runtime()).artifacts();
    if (range === undefined) return artifacts.stream(id, path);
    const part = { ...rangeOf(range), ...(path === undefined ? {} : { path }) };
    return (async function* () {
      yield (await artifacts.read(id, part)).bytes;
    })();
  },
  /** A terminal gets text whose control characters cannot move its cursor; a pipe gets the bytes. */
  text(bytes, { out, bytes: print, tty }) {
    if (!tty) return print(bytes);
    if (!isUtf8(bytes))
      throw fail('usage', 'Cannot print it on a terminal: it is not text; redirect it, or take --to');
    out(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  },
});

function rangeOf(text: string): { readonly start: number; readonly end?: number } {
  const match = /^(\d{1,15}):(\d{1,15})?$/.exec(text);
  if (!match) throw fail('usage', `Cannot use --range ${text.slice(0, 80)}: it takes START:END in bytes`);
  return { start: Number(match[1]), ...(match[2] === undefined ? {} : { end: Number(match[2]) }) };
}

interface Verified {
  readonly count: number;
  readonly bad: readonly ({ readonly artifact: ObjectId } & ArtifactVerdict)[];
}

export const artifactsVerify = defineOperation<{ readonly artifacts?: readonly string[] }, Verified>({
  id: 'artifacts.verify',
  summary: 'Check the hashes of artifacts, all of them by default',
  usage: '[ARTIFACT…]',
  description: 'Names each whose bytes are gone or changed. Importing the same bytes again puts it right.',
  examples: ['haft artifacts verify', 'haft artifacts verify sha256:…'],
  args: { artifacts: words(1000, 'their ids') },
  result: document({ ok: YES, verified: COUNT, bad: listOf('Those whose bytes are gone or changed.') }),
  who: 'person',
  reads: true,
  async run({ artifacts: given = [] }, { runtime, signal, progress }) {
    const artifacts = await (await runtime()).artifacts();
    const ids = given.map(artifactId);
    const bad: Verified['bad'][number][] = [];
    let count = 0;
    for await (const id of ids.length > 0 ? ids : every(artifacts)) {
      if (signal.aborted) break;
      count++;
      progress(
        ids.length > 0
          ? { pct: (100 * (count - 1)) / ids.length, message: id }
          : { message: `artifact ${count}: ${id}` },
      );
      const verdict = await artifacts.verify(id);
      if (verdict.state !== 'ok') bad.push({ artifact: id, ...verdict });
    }
    return { count, bad };
  },
  json: ({ count, bad }) => ({ ok: bad.length === 0, verified: count, bad }),
  text({ count, bad }, { out, err }) {
    for (const { artifact, path, state } of bad) {
      const inside = path === undefined ? '' : `: "${path}" in it`;
      err(`haft: ${artifact}${inside} is ${state} [E_INTERNAL object.${state}]\n`);
    }
    if (bad.length === 0) out(`All ${count} artifacts verify.\n`);
  },
  exit: ({ bad }) => (bad.length === 0 ? 0 : ERRORS['object.corrupt'].exit),
});

const PAGE = 500;

async function* every(artifacts: ArtifactStore): AsyncGenerator<ObjectId> {
  let before: ObjectId | undefined;
  for (;;) {
    const page = await artifacts.list({ limit: PAGE, ...(before ? { before } : {}) });
    for (const { id } of page) yield id;
    if (page.length < PAGE) return;
    before = page.at(-1)!.id;
  }
}

const USUAL = '30d';

interface SweepArgs {
  readonly unused_for: string;
  readonly undo_for?: string;
  readonly dry_run?: boolean;
}

export const artifactsGc = defineOperation<SweepArgs, SweepReport & { readonly dryRun: boolean }>({
  id: 'artifacts.gc',
  summary: 'Remove artifacts and other objects that nothing needs any more',
  usage: '[--unused-for TIME] [--undo-for TIME] [--dry-run]',
  description:
    'Inputs and outputs of runs stay, and so do the pre-images that undo needs. Safe while other processes work.',
  examples: ['haft artifacts gc --dry-run', 'haft artifacts gc --unused-for 7d --undo-for 12w'],
  args: {
    unused_for: {
      type: 'string',
      placeholder: 'TIME',
      default: USUAL,
      description: `only what nobody imported, made or used for so long (default: ${USUAL}; at least 1h)`,
    },
    undo_for: text('TIME', 'give up undo of calls that are older (default: keep it for all)'),
    dry_run: flag('say what would go, and remove nothing'),
  },
  result: document({
    dry_run: YES,
    artifacts: listOf('Those that went.', TEXT),
    removed: document({ objects: COUNT, bytes: COUNT }),
    kept: document({ objects: COUNT, bytes: COUNT }),
  }),
  who: 'person',
  changes: true,
  async run({ unused_for, undo_for, dry_run: dryRun = false }, { runtime, signal, record }) {
    const unusedForMs = duration('unused-for', unused_for);
    if (unusedForMs < SHORTEST_LEASE_MS)
      throw fail(
        'usage',
        'Cannot use --unused-for: it takes at least 1h, so that nothing goes while it is being imported',
      );
    const report = await (await (await runtime()).artifacts()).sweep({
      unusedForMs,
      ...(undo_for === undefined ? {} : { undoForMs: duration('undo-for', undo_for) }),
      dryRun,
      signal,
    });
    const { artifacts, removed } = report;
    if (!dryRun && removed.objects > 0)
      await record('haft artifacts gc', { artifacts: artifacts.length, ...removed });
    return { ...report, dryRun };
  },
  json: ({ dryRun, artifacts, removed, kept }) => ({ dry_run: dryRun, artifacts, removed, kept }),
  text({ dryRun, artifacts, removed, kept }, { out }) {
    const verb = dryRun ? 'Would remove' : 'Removed';
    const named = `${artifacts.length} artifact${artifacts.length === 1 ? '' : 's'}`;
    out(
      `${verb} ${removed.objects} objects (${shownSize(removed.bytes)}), ${named} among them; ${kept.objects} stay (${shownSize(kept.bytes)}).\n`,
    );
  },
});

function artifactId(given: string): ObjectId {
  const hex = given.startsWith('sha256:') ? given.slice('sha256:'.length) : given;
  if (isDigest(hex)) return `sha256:${hex}`;
  throw fail(
    'usage',
    `Cannot find "${given.slice(0, 80)}": an artifact is named by "sha256:" and 64 hex digits (see haft artifacts list)`,
  );
}

function artifactToWire({ id, madeBy, ...rest }: Artifact) {
  return { artifact: id, ...toWire(rest), ...(madeBy ? { made_by: toWire(madeBy) } : {}) };
}
