// Owns: the programs that start other programs, each with the rule that unwraps it, inspects it or never runs it.
// Refuses: to be complete: an interpreter or a build tool (python, awk, make, npm) is allowed or not as itself.
import { never, type Rule } from './call.ts';
import { git } from './git.ts';
import { INSPECTED } from './inspected-programs.ts';
import { inspects } from './options.ts';
import { sed } from './sed.ts';
import { otherShell, shell } from './shells.ts';
import { env, find, nice, wraps, xargs } from './wrappers.ts';

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
