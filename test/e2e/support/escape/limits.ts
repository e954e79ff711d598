// Owns: programs that try to use the machine up, to stay, or to be somewhere else when they are ended.
// Refuses: to let a bomb run without a bound: what these may use is small.
import { readdirSync, statSync } from 'node:fs';
import { type EscapeCase, type Got, script } from './case.ts';

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

/** `killed within 1 s of its byte limit`: what is on the disk says when it passed it. */
function diskFill(name: string, text: string): EscapeCase {
  const limit = 32 * MIB;
  const made = script('disk fill', name, 'limit', text, {
    tried: /^/,
    args: { limits: { bytesWritten: limit } },
  });
  return {
    ...made,
    async run(arena) {
      let passed = 0;
      const watch = setInterval(() => {
        if (passed === 0 && sizeOf(arena.workspace.path('fill')) > limit) passed = performance.now();
      }, 10);
      const responses = await arena.call(made.steps[0]!);
      clearInterval(watch);
      arena.overrun = passed === 0 ? 0 : performance.now() - passed;
      return [responses];
    },
    steps: [
      {
        ...made.steps[0]!,
        check: ({ facts, arena }) =>
          facts.limit !== 'bytes_written'
            ? `the limit that ended it is ${facts.limit}, after ${sizeOf(arena.workspace.path('fill'))} bytes`
            : arena.overrun > 1000
              ? `it was ended ${Math.round(arena.overrun)} ms after it passed its limit`
              : undefined,
      },
    ],
  };
}

function sizeOf(folder: string): number {
  try {
    return readdirSync(folder).reduce(
      (sum, name) => sum + (statSync(`${folder}/${name}`, { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  } catch {
    return 0;
  }
}

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
  diskFill(
    'children that leave no trace of what they wrote',
    `perl -e '$SIG{CHLD} = "IGNORE"; mkdir "fill";
for my $i (1..400) { pipe(my $r, my $w); if (!fork) { open(my $f, ">", "fill/f$i"); syswrite($f, "x" x 4194304); exit } close $w; <$r> } sleep 60'`,
  ),
  diskFill(
    'files that have no name any more',
    `mkdir -p fill; perl -e '$SIG{CHLD} = "IGNORE"; my @kept;
for my $i (1..400) { open(my $f, ">", "fill/f$i"); push @kept, $f; unlink "fill/f$i"; pipe(my $r, my $w); if (!fork) { syswrite($f, "x" x 4194304); exit } close $w; <$r> } sleep 60'`,
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
