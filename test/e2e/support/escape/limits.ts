// Owns: programs that try to use the machine up, to stay, or to be somewhere else when they are ended.
// Refuses: to let a bomb run without a bound: what these may use is small.
import { statfsSync } from 'node:fs';
import { type EscapeCase, type Got, type Script, script } from './case.ts';

const MIB = 2 ** 20;

const hits =
  (...limits: readonly (string | null)[]) =>
  ({ facts }: Got): string | undefined =>
    limits.includes(facts.limit ?? null) ? undefined : `the limit that ended it is ${facts.limit}`;

/** Without cgroups the kernel refuses what is too much, and the program gives up by itself. */
const hitsOrFails =
  (limit: string) =>
  ({ facts }: Got): string | undefined =>
    facts.limit === limit || (facts.exit ?? 0) !== 0 ? undefined : `it ended well (${facts.limit})`;

const timesOut = ({ facts }: Got): string | undefined =>
  facts.timed_out === true ? undefined : `it did not time out: ${JSON.stringify(facts)}`;

const DISK_LIMIT = 32 * MIB;

/** `killed within 1 s of its byte limit`: the space that is gone says when it passed it. */
function diskFill(name: string, text: string, language: Script['language'] = 'bash'): EscapeCase {
  const made = script('disk fill', name, 'limit', text, {
    language,
    tried: /^/,
    args: { limits: { bytesWritten: DISK_LIMIT } },
  });
  return {
    ...made,
    async run(arena) {
      const free = () => {
        const { bfree, bsize } = statfsSync(arena.workspace.root);
        return bfree * bsize;
      };
      const before = free();
      let passed = 0;
      let least = before;
      let grew = 0;
      let ticked = performance.now();
      let worstGap = 0;
      // What is looked at after its end does not count.
      const watch = setInterval(() => {
        const left = free();
        worstGap = Math.max(worstGap, performance.now() - ticked);
        ticked = performance.now();
        if (left < least - MIB) [least, grew] = [left, performance.now()];
        if (passed === 0 && before - left > DISK_LIMIT) passed = performance.now();
      }, 10);
      const response = await arena.call(made.steps[0]!);
      clearInterval(watch);
      // A machine that lets this timer wait lets the one wait that ends the program, and others write to the same disk.
      const busy = 20 * Math.max(0, worstGap - 20);
      arena.overrun = passed === 0 ? 0 : Math.max(0, grew - passed - busy);
      return [response];
    },
    steps: [
      {
        ...made.steps[0]!,
        check: ({ facts, arena }) =>
          facts.limit !== 'bytes_written'
            ? `the limit that ended it is ${facts.limit}`
            : arena.overrun > 1000
              ? `it was ended ${Math.round(arena.overrun)} ms after it passed its limit`
              : undefined,
      },
    ],
  };
}

/** Perl that has `away`: it runs in a child that leaves no trace of what it wrote. Waits once everything is filled. */
const perlFill = (name: string, text: string): EscapeCase =>
  diskFill(
    name,
    `require './attacks/kit.pl'; use Socket; mkdir 'fill'; my $data = 'x' x ${4 * MIB}; my @kept;
sub away { my ($do) = @_; $SIG{CHLD} = 'IGNORE'; pipe(my $r, my $w); if (!fork) { $do->(); exit } close $w; <$r> }
sub fresh { my ($name) = @_; open(my $f, '+>', "fill/$name") or die; return $f }
sub unnamed { my $f = fresh('f'); unlink 'fill/f'; return $f }
our %nr; my $map = sub { my ($f) = @_; truncate($f, ${4 * MIB}); return syscall($nr{mmap}, 0, ${4 * MIB}, 3, 1, fileno $f, 0) };
open(my $zero, '<', '/dev/zero');
${text}
sleep 60;`,
    'perl',
  );

/** The same, where what it leaves is moved away and the call says that alone. */
const movedAway = ({ steps, ...rest }: EscapeCase): EscapeCase => ({
  ...rest,
  steps: steps.map(({ check: _, ...step }) => ({
    ...step,
    ends: 'quarantined',
    reason: /^policy\.quarantined$/,
  })),
});

export const LIMITS: readonly EscapeCase[] = [
  script('fork bomb', 'in bash', 'limit', 'b() { b | b & }; b; sleep 2', {
    tried: /^/,
    args: { limits: { processes: 64 } },
    check: hits('processes', null),
  }),
  script(
    'fork bomb',
    'in Perl, each in a session of its own',
    'limit',
    'use POSIX "setsid"; while (1) { my $p = fork(); if (defined $p && !$p) { setsid() } }',
    {
      language: 'perl',
      tried: /^/,
      args: { limits: { processes: 64 }, timeout_ms: 3000 },
      check: ({ facts }) =>
        facts.limit === 'processes' || facts.timed_out === true ? undefined : JSON.stringify(facts),
    },
  ),
  script('fork bomb', 'of the size that is granted by default', 'limit', 'b() { b | b & }; b; sleep 2', {
    tried: /^/,
    args: { timeout_ms: 20_000 },
    check: hits('processes', null),
  }),
  script(
    'memory bomb',
    'in one process',
    'limit',
    `my @a; push @a, "x" x ${MIB} for 1..4000; print "all of it\\n"; sleep 60`,
    {
      language: 'perl',
      tried: /^/,
      args: { limits: { memoryBytes: 128 * MIB } },
      check: hitsOrFails('memory'),
    },
  ),
  script(
    'memory bomb',
    'in many processes',
    'limit',
    `for (1..8) { next if fork(); my $a = "x" x (40 * ${MIB}); sleep 60; exit } sleep 60`,
    {
      language: 'perl',
      tried: /^/,
      args: { limits: { memoryBytes: 128 * MIB } },
      check: hits('memory'),
    },
  ),
  script(
    'memory bomb',
    'in temporary files',
    'limit',
    'for d in /tmp /dev/shm "$HOME"; do head -c 200000000 /dev/zero > $d/f && echo "$d took it"; done; echo tried',
    {
      tried: /^tried$|^$/m,
      args: { limits: { memoryBytes: 128 * MIB, tmpBytes: 64 * MIB } },
      check: ({ response }) =>
        JSON.stringify(response.data).includes('took it') ? 'it was taken' : undefined,
    },
  ),
  diskFill(
    'many files',
    'mkdir -p fill; i=0; while :; do head -c 4194304 /dev/zero > fill/f$i; i=$((i+1)); [ $i -gt 400 ] && sleep 60; done',
  ),
  diskFill('one file', 'mkdir -p fill; head -c 2000000000 /dev/zero > fill/f; sleep 60'),
  diskFill(
    'children that nobody waits for',
    'mkdir -p fill; for i in $(seq 400); do (head -c 4194304 /dev/zero > fill/f$i &) ; done; sleep 60',
  ),
  perlFill(
    'children that leave no trace of what they wrote',
    'for my $i (1..400) { away(sub { syswrite(fresh("f$i"), $data) }) }',
  ),
  perlFill(
    'files that have no name any more',
    'for (1..400) { my $f = unnamed(); push @kept, $f; away(sub { syswrite($f, $data) }) }',
  ),
  perlFill(
    'files without a name, of a process that lets nobody see what it holds',
    'syscall($nr{prctl}, 4, 0, 0, 0, 0); for (1..400) { my $f = unnamed(); push @kept, $f; away(sub { syswrite($f, $data) }) }',
  ),
  perlFill(
    'files without a name, in messages that nobody takes',
    `for (1..400) { my $f = unnamed(); away(sub { syswrite($f, $data) });
  socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0); push @kept, $a, $b; my $x = 'x'; my $iov = pack('P Q', $x, 1);
  my $control = pack('Q l l l x4', 20, 1, 1, fileno $f); my $m = pack('Q L x4 P Q P Q l x4', 0, 0, $iov, 1, $control, 24, 0);
  syscall($nr{sendmsg}, fileno $a, $m, 0); }`,
  ),
  perlFill(
    'files without a name, held only by memory',
    'for (1..400) { my $f = unnamed(); my $at = $map->($f); close $f; away(sub { syscall($nr{read}, fileno $zero, $at, 4194304) }) }',
  ),
  perlFill(
    'through memory',
    'for my $i (1..400) { syscall($nr{read}, fileno $zero, $map->(fresh("f$i")), 4194304) }',
  ),
  perlFill('many small files', 'for my $i (1..200000) { syswrite(fresh("f$i"), $data, 4096) }'),
  perlFill(
    'many small files, by children, in many folders',
    'for my $k (1..4000) { away(sub { mkdir "fill/$k"; syswrite(fresh("$k/f$_"), $data, 4096) for 1..50 }) }',
  ),
  perlFill(
    'a file full of holes',
    'my $f = fresh("f"); truncate($f, 3 << 30); for my $i (0..40000) { away(sub { for my $k (0..99) { sysseek($f, ($i * 100 + $k) << 16, 0); syswrite($f, $data, 4096) } }) }',
  ),
  perlFill(
    'space that is set aside',
    'for my $i (1..100) { syscall($nr{fallocate}, fileno(fresh("f$i")), 0, 0, 16 << 20); select(undef, undef, undef, 0.02) }',
  ),
  perlFill(
    'space that is set aside, beyond the end, without a name',
    'for (1..100) { my $f = unnamed(); push @kept, $f; syscall($nr{fallocate}, fileno $f, 1, 0, 16 << 20); select(undef, undef, undef, 0.02) }',
  ),
  movedAway(
    perlFill(
      'files too deep to be named',
      `chdir 'fill'; for (1..30) { my $n = 'n' x 200; mkdir $n; chdir $n or die }
for my $i (1..400) { away(sub { open(my $f, '>', "f$i") or die; syswrite($f, $data) }) }`,
    ),
  ),
  perlFill(
    'files in a folder that was shut',
    `chdir 'fill'; mkdir 'x'; chdir 'x'; chmod 0300, '.'; for my $i (1..400) { away(sub { open(my $f, '>', "f$i") or die; syswrite($f, $data) }) }`,
  ),
  perlFill(
    'nothing but folders and links',
    `for my $k (1..4000) { away(sub { mkdir "fill/$k"; for (1..100) { mkdir "fill/$k/$_"; symlink 'x' x 200, "fill/$k/l$_" } }) }`,
  ),
  script(
    'memory bomb',
    'in memory that is in no process',
    'limit',
    `my $n = ${process.arch === 'arm64' ? 279 : 319}; my $name = 'm'; my $d = 'x' x ${MIB};
for (1..4) { my $fd = syscall($n, $name, 0); open(my $f, '>&=', $fd); syswrite($f, $d) for 1..100; push @main::kept, $f } print "all of it\\n"; sleep 5`,
    {
      language: 'perl',
      tried: /^/,
      args: { limits: { memoryBytes: 128 * MIB } },
      check: hits('memory'),
    },
  ),
  script('endless output', 'on both streams', 'limit', 'yes & yes >&2; wait', {
    tried: /^/,
    args: { limits: { outputBytes: 8 * MIB } },
    check: hits('output'),
  }),
  script(
    'endless output',
    'with nothing but the limit of every line',
    'limit',
    'exec yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    {
      tried: /^/,
      check: hits('output'),
    },
  ),
  script('endless output', 'a little at a time', 'limit', 'while :; do echo x; sleep 0.01; done', {
    tried: /^x$/m,
    args: { timeout_ms: 500 },
    check: timesOut,
  }),
  script(
    'endless output',
    'lines that look like those of the keeper',
    'limit',
    'printf "D 0\\nS\\nM\\nX\\n{ \\"child-pid\\": 1 }\\n{ \\"exit-code\\": 0 }\\nD 0\\n"; printf "D 0\\nM\\n" >&2; exit 9',
    {
      tried: /^D 0$/m,
      check: ({ facts }) => (facts.exit === 9 ? undefined : `exit is ${facts.exit}`),
    },
  ),
  script(
    'ignoring SIGTERM',
    'and everything else',
    'process',
    "trap '' TERM HUP INT QUIT USR1; while :; do sleep $ESCAPE_MARK; done",
    {
      tried: /^/,
      args: { timeout_ms: 500 },
      check: timesOut,
    },
  ),
  script(
    'ignoring SIGTERM',
    'by starting anew',
    'process',
    "trap 'bash $0 & bash $0 &' TERM; echo up; while :; do sleep 0.05; done",
    {
      tried: /^up$/m,
      args: { timeout_ms: 500 },
      check: timesOut,
    },
  ),
  script(
    'ignoring SIGTERM',
    'by stopping oneself',
    'process',
    'sleep $ESCAPE_MARK & kill -STOP $!; kill -STOP $$',
    {
      tried: /^/,
      args: { timeout_ms: 500 },
      check: timesOut,
    },
  ),
  script(
    'double fork + setsid',
    'a daemon in Perl',
    'process',
    `
use POSIX 'setsid';
exit 0 if fork(); setsid(); exit 0 if fork(); chdir '/'; close $_ for (*STDIN, *STDOUT, *STDERR);
exec 'sleep', $ENV{ESCAPE_MARK};`,
    { language: 'perl', tried: /^/ },
  ),
  script(
    'double fork + setsid',
    'by programs',
    'process',
    'setsid nohup sleep $ESCAPE_MARK > /dev/null 2>&1 < /dev/null & disown; (setsid -f sleep $ESCAPE_MARK); ( ( sleep $ESCAPE_MARK & ) & )',
  ),
  script(
    'double fork + setsid',
    'without an environment, under another name',
    'process',
    '(exec -c -a "[kworker/0:1]" setsid -f perl -e \'$0 = "[kworker] $ARGV[0]"; sleep 9999\' $ESCAPE_MARK); env -i setsid -f sleep $ESCAPE_MARK',
  ),
  script(
    'double fork + setsid',
    'one for each descriptor that is left open',
    'process',
    'for i in 1 2 3 4 5 6 7 8 9; do (trap "" TERM HUP; setsid sleep $ESCAPE_MARK &) ; done; exit 3',
    {
      tried: /^/,
      check: ({ facts }) => (facts.exit === 3 ? undefined : `exit is ${facts.exit}`),
    },
  ),
  script(
    'descriptors',
    'open more than there may be',
    'limit',
    'my @f; while (open(my $f, "<", "/dev/null")) { push @f, $f } print "tried ", scalar(@f), "\\n"; exit(@f > 4096 ? 1 : 0)',
    {
      language: 'perl',
      tried: /^tried \d+$/m,
      check: ({ facts }) => (facts.exit === 0 ? undefined : 'it opened more than 4096'),
    },
  ),
];
