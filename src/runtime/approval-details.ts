// Owns: what a person is shown of a call that waits for them, and the digest that binds their answer to what it would change.
// Refuses: to change anything: a tool is only asked for its dry run, and only where it declares one.
import { canonicalJson, canonicalText } from '../base/canonical-json.ts';
import { digest } from '../base/digest.ts';
import type { Change, ToolContext } from '../contract/capability.ts';
import type { Effect } from '../contract/effect.ts';
import { isFailure } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ApprovalDetails } from '../contract/store.ts';
import type { AnyTool } from '../contract/tool.ts';

export interface Judgeable {
  /** In place of the arguments' hash: the same call with another outcome is another question. */
  readonly paramsHash: string;
  /** For the person; asked only where there is one to ask. */
  describe(): Promise<Described>;
}

export interface Described {
  readonly details: ApprovalDetails;
  /** Without secrets, as all that a question keeps. */
  readonly effects: readonly Effect[];
  /** Null where it would hold a secret, too. */
  readonly admit: string | null;
}

interface JudgedCall {
  readonly tool: AnyTool;
  readonly args: JsonObject;
  readonly argsHash: string;
  readonly effects: readonly Effect[];
  /** What would admit the call without a question. */
  readonly admit: string | undefined;
  /** A context for the dry run; `hidden` where policy denies to read what a diff would show. */
  context(args: JsonObject): Promise<{ readonly ctx: ToolContext; readonly hidden: boolean }>;
}

/** The longest diff that is kept, and the longest text of an argument. */
const MOST_TEXT = 64 * 1024;
/** All arguments together. */
const MOST_ARGS = 256 * 1024;
const MOST_CHANGES = 200;

export async function describeForApproval(call: JudgedCall): Promise<Judgeable> {
  const notes: string[] = [];
  const ahead = await lookAhead(call, notes);
  const bound = () => canonicalJson({ args: call.argsHash, changes: ahead.planned });
  return {
    paramsHash: ahead.planned.length === 0 ? call.argsHash : digest('params/v1', bound()),
    describe: () => describe(call, ahead, notes),
  };
}

async function describe(call: JudgedCall, ahead: Ahead, notes: string[]): Promise<Described> {
  const { createRedactor } = await import('../base/redact/create-redactor.ts');
  const redactor = createRedactor({ guess: 'settings' });
  const shown = cutter(notes);
  const changes = ahead.changes.slice(0, MOST_CHANGES);
  if (ahead.changes.length > changes.length)
    notes.push(`${ahead.changes.length - changes.length} more paths would change`);
  const diff = ahead.diff === undefined ? {} : { diff: cutDiff(redactor.text(ahead.diff), notes) };
  const details: ApprovalDetails = {
    args: shown(redactor.value(call.args)) as JsonObject,
    ...(changes.length > 0 ? { changes } : {}),
    ...diff,
    notes,
  };
  const effects = redactor.value(call.effects);
  const isSame = canonicalText(effects) === canonicalText(call.effects);
  const admit =
    (isSame && call.admit !== undefined && redactor.text(call.admit) === call.admit && call.admit) || null;
  return { details, effects, admit };
}

interface Ahead {
  readonly changes: readonly JsonObject[];
  readonly planned: readonly Change[];
  readonly diff?: string;
}

async function lookAhead({ tool, args, context }: JudgedCall, notes: string[]): Promise<Ahead> {
  const planned: Change[] = [];
  if (!tool.previews) return { changes: [], planned };
  const dry = { ...args, dry_run: true };
  try {
    const { ctx, hidden } = await context(dry);
    if (hidden) notes.push('what it would replace is not shown: policy denies to read it');
    const looked = Promise.resolve(tool.run(dry as never, watching(ctx, planned)));
    // The plan is made before the diff, so that the answer is bound to it all the same.
    if (hidden) return await looked.catch(unlessLater).then(() => ({ changes: [], planned }));
    const data = (await looked) as { readonly changes?: readonly JsonObject[]; readonly diff?: string };
    const { changes = [] } = data;
    const moved = await movedContent(ctx, changes);
    const diff = [data.diff, moved].filter((part) => part !== undefined).join('');
    if (diff === '' && changes.length > 0)
      notes.push(
        planned.every(changesNothing)
          ? 'nothing would change: what is there is already like it'
          : 'there is no diff: what changes is not text, too long, or a folder',
      );
    return { changes, planned, ...(diff === '' ? {} : { diff }) };
  } catch (thrown) {
    unlessLater(thrown);
    if (!isFailure(thrown)) throw thrown;
    notes.push(`what it would change cannot be shown: ${thrown.message}`);
    return { changes: [], planned };
  }
}

function changesNothing({ before, after, movedFrom }: Change): boolean {
  if (movedFrom !== undefined || before?.type !== 'file' || after?.type !== 'file') return false;
  return before.object === after.object && before.mode === after.mode;
}

/**
 * What can be done later is no question now: it would be another one than the one a person answered, or will answer, since
 * what would change is not known.
 */
function unlessLater(thrown: unknown): void {
  if (isFailure(thrown) && thrown.retryable) throw thrown;
}

/** The changes with their hashes, as the plan has them; the answer of a dry run has only names. */
function watching(ctx: ToolContext, planned: Change[]): ToolContext {
  const { fs } = ctx;
  const preview: typeof fs.preview = async (edits) => {
    const changes = await fs.preview(edits);
    planned.push(...changes);
    return changes;
  };
  const watched = { ...fs, preview };
  // Over nothing: a context keeps its handles as values that a proxy of it would have to repeat.
  return new Proxy({} as ToolContext, {
    get: (_, name) => (name === 'fs' ? watched : Reflect.get(ctx, name, ctx)),
  });
}

/** A rename says nothing of what a file holds, and a person has to judge that. */
async function movedContent(ctx: ToolContext, changes: readonly JsonObject[]): Promise<string | undefined> {
  const [change] = changes.filter(({ change: kind }) => kind === 'move');
  const { path, from, bytes } = change ?? {};
  if (typeof path !== 'string' || typeof from !== 'string' || path.endsWith('/')) return undefined;
  if (typeof bytes !== 'number' || bytes > MOST_TEXT) return undefined;
  const read = await ctx.fs.read(from, { maxBytes: MOST_TEXT });
  const text = Buffer.from(read.bytes).toString('utf8');
  if (text.includes('\0') || text.includes('\ufffd')) return undefined;
  const { makeUnifiedDiff } = await import('../base/unified-diff/make-diff.ts');
  return makeUnifiedDiff(null, path, '', text);
}

function cutDiff(diff: string, notes: string[]): string {
  if (diff.length <= MOST_TEXT) return diff;
  const end = diff.lastIndexOf('\n', MOST_TEXT) + 1 || MOST_TEXT;
  notes.push(`the diff is cut: ${diff.length - end} more characters are not shown`);
  return diff.slice(0, end);
}

/** A copy of a JSON value in which texts and lists end early, each with a note. */
function cutter(notes: string[]): (value: unknown) => unknown {
  let left = MOST_ARGS;
  const text = (value: string, where: string): string => {
    const room = Math.min(MOST_TEXT, Math.max(left, 0));
    left -= Math.min(value.length, room);
    if (value.length <= room) return value;
    notes.push(`${where} is cut: ${value.length - room} more characters are not shown`);
    return value.slice(0, room);
  };
  const cut = (value: unknown, where: string): unknown => {
    if (typeof value === 'string') return text(value, where);
    left -= 8;
    if (typeof value !== 'object' || value === null) return value;
    const isList = Array.isArray(value);
    const kept: [string, unknown][] = [];
    const entries = Object.entries(value);
    for (const [key, member] of entries) {
      if (left <= 0) break;
      const name = isList ? key : text(key, 'a name');
      kept.push([name, cut(member, where === 'the arguments' ? name : `${where}.${name}`)]);
    }
    if (kept.length < entries.length)
      notes.push(`${where} is cut: ${entries.length - kept.length} more entries are not shown`);
    return isList ? kept.map(([, member]) => member) : Object.fromEntries(kept);
  };
  return (value) => cut(value, 'the arguments');
}
