// Owns: unwrapping programs whose work is to start another one, so that the inner command is judged too.
// Refuses: inner commands that are put together while running.
import { refuse } from './analysis.ts';
import { anchored, type Call, known, name, openEnded, type Rule } from './call.ts';
import { skipOptions, type Wrapping } from './options.ts';
import type { ShellWord } from './read-word.ts';
import { setVariable } from './walk.ts';

/** A rule for programs that pass the rest of their words on as they are. */
export function wraps(spec: Wrapping): Rule {
  return (call) => {
    const rest = call.words.slice(skipOptions(call, spec));
    if (rest.length === 0) return call.list();
    ownPath(call);
    call.run(rest, { external: true });
  };
}

/** `nice -5 make` is an old way of `nice -n 5 make`. */
export function nice(call: Call): void {
  const words = call.words.filter((word, index) => index !== 1 || !/^-[0-9]+$/.test(word.literal ?? ''));
  wraps({ values: { letters: 'n', long: 'adjustment' } })({ ...call, words });
}

export function env(call: Call): void {
  // Not -i: without the variables that Haft sets, git would start what a repository names.
  const spec = {
    letters: 'v0',
    long: 'null debug',
    values: { letters: 'uC', long: 'unset chdir' },
  };
  let i = skipOptions(call, spec, (option, value, word) => {
    if (option === 'C' || option === 'chdir') changesDirectory(call, value);
    else if (/^GIT_/.test(value)) setVariable(call.walk, value, word, undefined);
  });
  if (call.words[i]?.literal === '-')
    refuse('shell.wrapper', 'Cannot run env -: leave variables out by name, with -u', call.words[i]!);
  const added: [name: string, value: string][] = [];
  for (; i < call.words.length; i++) {
    const word = call.words[i]!;
    const [, variable] = /^([^=]+)=/.exec(word.prefix) ?? [];
    if (variable === undefined) break;
    if (word.splits !== 'no')
      refuse('shell.dynamic', `Cannot know what env starts after ${word.canonical}: quote it`, word);
    const value = word.literal?.slice(variable.length + 1);
    setVariable(call.walk, variable, word, value);
    added.push([variable, value ?? word.canonical.slice(variable.length + 1)]);
  }
  if (i >= call.words.length) return call.list();
  ownPath(call);
  call.run(call.words.slice(i), { external: true, env: { ...call.env, ...Object.fromEntries(added) } });
}

/** The words it adds are not known: the command sees one more that may be anything, or with -I the mark replaced. */
export function xargs(call: Call): void {
  const spec = {
    letters: '0oprtx',
    long: 'null open-tty interactive no-run-if-empty verbose exit',
    values: { letters: 'adEILnPs', long: 'arg-file delimiter max-args max-procs max-chars' },
  };
  let mark: string | undefined;
  const at = skipOptions(call, spec, (option, value, word) => {
    if (option !== 'I') return;
    if (value === '') refuse('shell.wrapper', 'Cannot tell what xargs -I replaces', word);
    mark = value;
  });
  const last = call.words.at(-1)!;
  const unknown: ShellWord = { ...openEnded(last, '', '…'), splits: 'free' };
  const echo: ShellWord = { ...last, literal: 'echo', prefix: 'echo', canonical: 'echo' };
  const rest = at < call.words.length ? call.words.slice(at) : [echo];
  ownPath(call);
  const inner = mark === undefined ? [...rest, unknown] : rest.map((word) => fill(word, mark!));
  call.run(inner, { external: true });
}

/** Lists find itself, and each command that its actions start. */
export function find(call: Call): void {
  call.list();
  const { words } = call;
  for (let i = 1; i < words.length; i++) {
    const word = words[i]!;
    const text = word.literal;
    if (text !== undefined && word.splits === 'no' && FIND_ACTIONS.has(text)) {
      const many = text.startsWith('-exec');
      const ends = (j: number) =>
        words[j]!.literal === ';' || (many && words[j]!.literal === '+' && words[j - 1]!.literal === '{}');
      const end = words.findIndex((_, j) => j > i && ends(j));
      const inner = words.slice(i + 1, end);
      if (end < 0 || inner.length === 0)
        refuse('shell.wrapper', `Cannot tell where the command of ${text} ends`, word);
      // What could become `;` could end the command and start another.
      for (const each of inner) if (each.splits === 'free' || !/^[\w./]/.test(each.prefix)) known(call, each);
      if (text.endsWith('dir')) changesDirectory(call, undefined);
      // No path that find hands on starts with a dash.
      call.run(
        inner.map((each) => fill(each, '{}', './')),
        { external: true },
      );
      i = end;
    } else if (text !== undefined && FIND_WRITES.test(text)) {
      refuse(
        'shell.wrapper',
        `Cannot run find with ${text}: it writes a file that is not declared; use a redirect`,
        word,
      );
    } else if (text !== undefined && FIND_VALUES.test(text)) {
      const value = words[++i];
      if (value !== undefined && value.splits !== 'no')
        refuse('shell.dynamic', `Cannot know what ${value.canonical} becomes: quote it`, value);
    } else if (text !== undefined && /^-./.test(text) && !FIND_PLAIN.test(text)) {
      refuse(
        'shell.wrapper',
        `Cannot run find with ${text}: it is not among the expressions that are known to start no other program`,
        word,
      );
    } else if (!anchored(word) || word.splits === 'free') {
      refuse(
        'shell.dynamic',
        `Cannot know whether ${word.canonical} becomes an action of find: put ./ before it`,
        word,
      );
    }
  }
}

const FIND_ACTIONS: ReadonlySet<string> = new Set(['-exec', '-execdir', '-ok', '-okdir']);
const FIND_WRITES = /^-(?:fprint0?|fprintf|fls)$/;
const FIND_VALUES =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|regextype|type|xtype|size|[acm]time|[acm]min|newer\w*|[ac]newer|perm|user|group|uid|gid|links|inum|samefile|maxdepth|mindepth|printf|fstype|used|context|files0-from)$/;
const FIND_PLAIN =
  /^-(?:[HLP]|O[0-3]|depth|d|daystart|follow|(?:no)?ignore_readdir_race|mount|noleaf|xdev|x|(?:no)?warn|empty|executable|readable|writable|nouser|nogroup|true|false|delete|ls|print|print0|prune|quit|a|and|o|or|not|-?help|-?version)$/;

/** Text that the inner command hands to a shell may open files from there. */
function changesDirectory(call: Call, to: string | undefined): void {
  call.walk.gathered.directories.push({ to, loop: to === undefined || call.walk.gathered.loops > 0 });
}

/** A wrapper given as a path is a program of its own: it must be allowed too. */
export function ownPath(call: Call): void {
  if (name(call).includes('/')) call.list();
}

/** What becomes of a word in which `mark` is replaced while running. */
function fill(word: ShellWord, mark: string, start = ''): ShellWord {
  const at = word.prefix.indexOf(mark);
  return at < 0 ? word : openEnded(word, at === 0 ? start : word.prefix.slice(0, at), word.canonical);
}
