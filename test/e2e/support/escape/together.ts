// Owns: attacks that take two calls at the same time: one passes on what the other must not have, or swaps what it opens.
// Refuses: to count what the first may do by itself.
import type { CallResponse } from '../../../../src/index.ts';
import type { Arena } from './arena.ts';
import type { EscapeCase, Step } from './case.ts';

/** Perl that sends and takes a descriptor over a socket, by number: perl-base has no module for it. */
const DESCRIPTORS = `use Socket;
sub message { my ($iov, $control) = @_; return pack('Q L x4 P Q P Q l x4', 0, 0, $$iov, 1, $$control, 24, 0) }
sub send_fd { my ($to, $fd) = @_; my $x = 'x'; my $iov = pack('P Q', $x, 1); my $control = pack('Q l l l x4', 20, 1, 1, $fd);
  my $m = message(\\$iov, \\$control); syscall($main::nr{sendmsg}, fileno($to), $m, 0) }
sub take_fd { my ($from) = @_; my $x = ' '; my $iov = pack('P Q', $x, 1); my $control = "\\0" x 24;
  my $m = message(\\$iov, \\$control); syscall($main::nr{recvmsg}, fileno($from), $m, 0); return unpack('x16 l', $control) }
`;

const perl = (text: string, args: Step['args'], tried: RegExp): Step => ({
  tool: 'shell_exec',
  args: { timeout_ms: 20_000, ...args },
  script: { language: 'perl', text: `require './attacks/kit.pl';\n${DESCRIPTORS}${text}` },
  ends: 'contained',
  tried,
});

const bash = (text: string): Step => ({
  tool: 'shell_exec',
  args: { timeout_ms: 20_000 },
  script: { language: 'bash', text: `${text}\necho tried\n` },
  ends: 'contained',
  tried: /^tried$/m,
});

const GIVER = `
socket(my $door, AF_UNIX, SOCK_STREAM, 0); bind($door, pack_sockaddr_un('handoff')) or die; listen($door, 1);
socket(my $way, AF_INET, SOCK_STREAM, 0); connect($way, pack_sockaddr_in(3128, inet_aton('127.0.0.1'))) or die;
accept(my $friend, $door); send_fd($friend, fileno $way); sysread($friend, my $thanks, 1); print "handed over\\n";
`;
/** Uses it once the call that it came from has ended. */
const TAKER = `
socket(my $s, AF_UNIX, SOCK_STREAM, 0);
until (connect($s, pack_sockaddr_un('handoff'))) { select(undef, undef, undef, 0.01) }
my $fd = take_fd($s); syswrite($s, 'x'); open(my $way, '+<&=', $fd) or die;
until (-e 'ended') { select(undef, undef, undef, 0.01) }
$SIG{PIPE} = 'IGNORE';
syswrite($way, "GET http://127.0.0.1:$ENV{GRANTED}/late HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n");
sysread($way, my $got, 999); print 'took fd ', $fd, ' and got ', length($got // ''), " bytes\\n";
tcp('127.0.0.1', 3128);
`;
const ROOT_GIVER = `
socket(my $door, AF_UNIX, SOCK_STREAM, 0); bind($door, pack_sockaddr_un("\\0handoff-$ENV{ESCAPE_MARK}")) or die; listen($door, 1);
open(my $flag, '>', 'listening'); close $flag; for (1..500) { last if -e 'ended'; select(undef, undef, undef, 0.01) } print "waited\\n";
`;

/** Swaps a folder for a link to the outside and back, until it is told to stop. */
const SWAPPER = `mkdir -p turn parked
while [ ! -e stop ]; do mv turn parked/t; ln -s $OUTSIDE turn; rm turn; mv parked/t turn; done`;

async function whileSwapping(
  arena: Arena,
  swapper: Step,
  calls: (at: number) => Step,
): Promise<CallResponse[]> {
  const swapping = arena.call(swapper);
  const responses: CallResponse[] = [];
  for (let at = 0; at < 60; at++) responses.push(await arena.call(calls(at)));
  arena.workspace.put('stop', '');
  return [await swapping, ...responses];
}

export const TOGETHER: readonly EscapeCase[] = [
  {
    category: 'fd passing',
    name: 'a connection, from a call with a network to one without',
    sight: 'connection',
    steps: [
      perl(GIVER, { allow_network: true }, /^handed over$/m),
      perl(TAKER, {}, /^took fd \d+ and got 0 bytes$/m),
    ],
    async run(arena) {
      const taking = arena.call(this.steps[1]!);
      const gave = await arena.call(this.steps[0]!);
      arena.workspace.put('ended', '');
      return [gave, await taking];
    },
  },
  {
    category: 'abstract sockets',
    name: 'from one call to another',
    sight: 'connection',
    steps: [
      perl(ROOT_GIVER, {}, /^waited$/m),
      perl(
        `until (-e 'listening') { select(undef, undef, undef, 0.01) } unix("\\0handoff-$ENV{ESCAPE_MARK}");`,
        {},
        /^REFUSED /m,
      ),
    ],
    async run(arena) {
      const giving = arena.call(this.steps[0]!);
      const took = await arena.call(this.steps[1]!);
      arena.workspace.put('ended', '');
      return [await giving, took];
    },
  },
  {
    category: 'ptrace',
    name: 'from one call to another',
    sight: 'process',
    steps: [
      bash('echo up > up; for i in $(seq 500); do [ -e ended ] && break; sleep 0.02; done'),
      bash(
        'until [ -e up ]; do sleep 0.01; done; for p in $(seq 2 400); do [ $p = $$ ] || kill -9 $p; done 2>/dev/null; kill -9 -1',
      ),
    ],
    async run(arena) {
      const waiting = arena.call(this.steps[0]!);
      const killed = await arena.call({ ...this.steps[1]! });
      arena.workspace.put('ended', '');
      return [await waiting, killed];
    },
  },
  {
    category: 'symlink swaps',
    name: 'a program that swaps what the file tools open',
    sight: 'outside',
    steps: [bash(SWAPPER)],
    run(arena) {
      const CALLS: readonly Step[] = [
        { tool: 'file_write', args: { path: 'turn/pwned', content: 'x' }, ends: 'answered' },
        { tool: 'file_read', args: { path: 'turn/secret.txt' }, ends: 'answered' },
        {
          tool: 'fs_copy',
          args: { src: 'turn/secret.txt', dst: 'stolen', overwrite: true },
          ends: 'answered',
        },
        { tool: 'fs_delete', args: { path: 'turn/secret.txt' }, ends: 'answered' },
      ];
      return whileSwapping(arena, this.steps[0]!, (at) => CALLS[at % CALLS.length]!);
    },
  },
  {
    category: 'symlink swaps',
    name: 'a program that swaps the working folder of another',
    sight: 'secret',
    steps: [bash(SWAPPER)],
    run: function (arena) {
      const args = { cmd: 'cat secret.txt; ls; echo x > pwned', cwd: 'turn' };
      return whileSwapping(arena, this.steps[0]!, () => ({ tool: 'shell_exec', args, ends: 'answered' }));
    },
  },
];
