// Owns: the programs that start other programs, each with the rule that unwraps it, inspects it or never runs it.
// Refuses: to be complete: an interpreter or a build tool (python, awk, make, npm) is allowed or not as itself.
import { refuse } from './analysis.ts';
import type { Call, Rule, Wrapping } from './call.ts';
import { anchored, inspects, known, name, never, openEnded, skipOptions } from './call.ts';
import { git } from './git.ts';
import { INSPECTED } from './inspected-programs.ts';
import type { ShellWord } from './read-word.ts';
import { type Dialect, setVariable } from './walk.ts';

const otherUser = never('it runs commands as someone else or outside this sandbox');
const elsewhere = never('what it would run elsewhere or later cannot be checked');
const terminal = never('at a terminal it starts whatever is typed; read or edit the file with a tool');
const tracing = never('it runs a program inside another; run the program itself');

const TABLE: readonly (readonly [names: string, rule: Rule])[] = [
  // Unwrapped: only the inner command counts.
  ['env', env],
  ['xargs', xargs],
  ['nice', nice],
  ['nohup busybox toybox', wraps({})],
  [
    'timeout',
    wraps({
      letters: 'fpv',
      long: 'foreground preserve-status verbose',
      values: { letters: 'ks', long: 'kill-after signal' },
      operands: 1,
    }),
  ],
  ['ionice', wraps({ letters: 't', long: 'ignore', values: { letters: 'cn', long: 'class classdata' } })],
  ['stdbuf', wraps({ values: { letters: 'ioe', long: 'input output error' } })],
  ['setsid', wraps({ letters: 'cfw', long: 'ctty fork wait' })],
  ['time', wraps({ letters: 'pv', long: 'portability verbose', values: { letters: 'f', long: 'format' } })],
  ['find', find],
  ['bash', shell('bash')],
  ['sh dash ash', shell('sh')],
  ['rbash zsh ksh ksh93 mksh oksh posh yash fish csh tcsh pwsh powershell nu elvish xonsh', otherShell],
  // Run as themselves, but only with options that start no other program.
  ['git', git],
  ['sed gsed', sed],
  ...INSPECTED.map(([names, spec]) => [names, inspects(spec)] as const),
  // Never.
  [
    'sudo doas su runuser pkexec sg newgrp chroot unshare nsenter setpriv capsh bwrap firejail proot fakeroot fakechroot systemd-run machinectl',
    otherUser,
  ],
  [
    'ssh scp sftp slogin rsh rlogin mosh at batch crontab systemctl watch parallel flock screen tmux dtach nc ncat netcat socat telnet expect entr inotifywait chronic ifne pee vipe ssh-agent gpg-agent dbus-launch xvfb-run run-parts start-stop-daemon dbus-run-session xdg-open open',
    elsewhere,
  ],
  [
    'vi vim nvim view ex ed emacs nano pico less more most man info w3m lynx links script scriptreplay rlwrap unbuffer',
    terminal,
  ],
  [
    'strace ltrace gdb lldb perf valgrind rr taskset chrt numactl prlimit setarch linux32 linux64 i386 x86_64 uname26 choom cpulimit faketime catchsegv coreutils',
    tracing,
  ],
];

const BY_NAME: ReadonlyMap<string, Rule> = new Map(
  TABLE.flatMap(([names, rule]) => names.split(' ').map((program) => [program, rule] as const)),
);

/** The rule for a program: by the last part of its path. One without a row runs as itself. */
export function ruleFor(program: string): Rule {
  const base = program.slice(program.lastIndexOf('/') + 1);
  if (/^ld(?:-linux[\w.-]*|-musl[\w.-]*)\.so[\w.]*$/.test(base)) return tracing;
  return BY_NAME.get(base) ?? asItself;
}

const asItself: Rule = (call) => call.list();

/** A rule for programs that pass the rest of their words on as they are. */
function wraps(spec: Wrapping): Rule {
  return (call) => {
    const rest = call.words.slice(skipOptions(call, spec));
    if (rest.length === 0) return call.list();
    ownPath(call);
    call.run(rest, { external: true });
  };
}

/** `nice -5 make` is an old way of `nice -n 5 make`. */
function nice(call: Call): void {
  const words = call.words.filter((word, index) => index !== 1 || !/^-[0-9]+$/.test(word.literal ?? ''));
  wraps({ values: { letters: 'n', long: 'adjustment' } })({ ...call, words });
}

function env(call: Call): void {
  // Not -i: without the variables that Haft sets, git would start what a repository names.
  const spec = { letters: 'v0', long: 'null debug', values: { letters: 'uC', long: 'unset chdir' } };
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
function xargs(call: Call): void {
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
function find(call: Call): void {
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
function ownPath(call: Call): void {
  if (name(call).includes('/')) call.list();
}

/** What becomes of a word in which `mark` is replaced while running. */
function fill(word: ShellWord, mark: string, start = ''): ShellWord {
  const at = word.prefix.indexOf(mark);
  return at < 0 ? word : openEnded(word, at === 0 ? start : word.prefix.slice(0, at), word.canonical);
}

function shell(dialect: Dialect): Rule {
  return (call) => {
    let text = false;
    let i = 1;
    for (; i < call.words.length; i++) {
      const word = call.words[i]!;
      const option = known(call, word);
      const cluster = /^-[euxfv]*(c?)[euxfv]*(o?)$/.exec(option);
      if (!/^[-+]/.test(option)) break;
      if (cluster === null || option === '-') {
        if (dialect === 'bash' && /^--(?:norc|noprofile)$/.test(option)) continue;
        refuse('shell.wrapper', `Cannot tell what ${name(call)} ${option} would run`, word);
      }
      if (cluster[1] === 'c') text = true;
      if (cluster[2] !== 'o') continue;
      if (!/^(?:errexit|nounset|pipefail|xtrace|noglob)$/.test(call.words[++i]?.literal ?? ''))
        refuse('shell.wrapper', `Cannot tell what ${name(call)} -o sets`, word);
    }
    const word = call.words[i];
    if (word === undefined)
      refuse(
        'shell.wrapper',
        `Cannot know what ${name(call)} would read from its input: use -c or a file`,
        call.words[0]!,
      );
    known(call, word);
    if (!text) return call.list();
    ownPath(call);
    call.text(word, dialect);
  };
}

/** A shell whose grammar is not read here: it may only run a file, and must be allowed as itself. */
function otherShell(call: Call): void {
  const script = call.words[1];
  if (script === undefined || known(call, script).startsWith('-'))
    refuse(
      'shell.wrapper',
      `Cannot read what ${name(call)} would run: use bash -c or a file`,
      call.words[0]!,
    );
  call.list();
}

function sed(call: Call): void {
  const words = call.words.slice(1);
  // Only in front: elsewhere it could be the value of another option.
  if (words[0]?.literal === '--sandbox') return call.list();
  const scripts: number[] = [];
  let operands = false;
  let first = -1;
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const text = word.literal ?? word.prefix;
    if (!operands && text === '--') operands = true;
    else if (!operands && /^-[nrEsuz]*e$|^--expression$/.test(text)) scripts.push(++i);
    else if (!operands && FLAGS.test(text)) continue;
    else if (!operands && (!anchored(word) || /^-./.test(text)))
      refuse('shell.wrapper', `Cannot tell what sed does with ${word.canonical}: put --sandbox first`, word);
    else if (first < 0) first = i;
  }
  if (scripts.length === 0 && first >= 0) scripts.push(first);
  for (const index of scripts) {
    const script = words[index];
    if (script === undefined || known(call, script).length > 2000 || !SCRIPT.test(script.literal ?? ''))
      refuse(
        'shell.wrapper',
        'Cannot tell whether the sed script starts programs: put --sandbox first',
        script ?? call.words[0]!,
      );
  }
  call.list();
}

const FLAGS =
  /^-[nrEsuz]*i|^-[nrEsuz]+$|^--(?:quiet|silent|regexp-extended|separate|unbuffered|null-data|in-place(?:=.*)?|posix|debug)$/;
const ADDRESS = String.raw`(?:[0-9]+|\$|/(?:[^/\\\n]|\\[^\n])*/I?)`;
const WHERE = String.raw`(?:${ADDRESS}(?:,[+~]?${ADDRESS})?[ \t]*(?:![ \t]*)?)?`;
/** Flags `e` (run) and `w` (write) are left out. */
const SUBSTITUTE = [...'/|#,:@%!_~']
  .map((mark) => {
    const part = String.raw`(?:[^${mark}\\\n]|\\[^\n])*`;
    const between = mark === '|' ? '\\|' : mark;
    return `s${between}${part}${between}${part}${between}[gpiImM0-9]*`;
  })
  .join('|');
const COMMAND = String.raw`${WHERE}(?:[pdPDgGhHxnNl=]|q[0-9]*|${SUBSTITUTE})[ \t]*`;
/** Text to add runs to the end of the line. */
const TEXT = String.raw`${WHERE}[aic][ \t]+[^\n\\ \t](?:[^\n\\]|\\[^\n])*`;
const SCRIPT = new RegExp(String.raw`^[ \t\n]*(?:${COMMAND}(?:[;\n][ \t\n;]*|$))*(?:${TEXT})?$`);
