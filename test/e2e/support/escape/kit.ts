// Owns: the Perl that the attacks share: system calls by number, sockets, and bytes for the proxy.
// Refuses: modules beyond those of Debian's perl-base.

/** x64 and arm64; from 424 on all CPUs share their numbers. */
const NUMBERS: Readonly<Record<string, readonly [x64: number, arm64: number]>> = {
  acct: [163, 89],
  add_key: [248, 217],
  bpf: [321, 280],
  capset: [126, 91],
  chroot: [161, 51],
  clone: [56, 220],
  clone3: [435, 435],
  fallocate: [285, 47],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  fsopen: [430, 430],
  fspick: [433, 433],
  init_module: [175, 105],
  io_uring_setup: [425, 425],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  mknodat: [259, 33],
  mmap: [9, 222],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  openat: [257, 56],
  perf_event_open: [298, 241],
  pidfd_getfd: [438, 438],
  pidfd_open: [434, 434],
  pivot_root: [155, 41],
  prctl: [157, 167],
  process_vm_readv: [310, 270],
  ptrace: [101, 117],
  read: [0, 63],
  recvmsg: [47, 212],
  sendmsg: [46, 211],
  setgid: [106, 144],
  setgroups: [116, 159],
  sethostname: [170, 161],
  setns: [308, 268],
  setresuid: [117, 147],
  settimeofday: [164, 170],
  setuid: [105, 146],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
};

const numbers = Object.entries(NUMBERS)
  .map(([name, [x64, arm64]]) => `${name} => ${process.arch === 'arm64' ? arm64 : x64}`)
  .join(', ');

export const KIT = `
use strict; use warnings; use Socket qw(:DEFAULT inet_pton);
$| = 1;
our %nr = (${numbers});

# Numbers and texts are passed as what they are; a child that was made after all ends at once.
sub try_call {
  my ($name, @args) = @_;
  my $me = $$;
  my $got = syscall($nr{$name}, @args);
  exit 0 if $name =~ /clone/ && $got == 0;
  print $got == -1 ? "REFUSED $name $!\\n" : "DONE $name $got\\n";
  return $got;
}

sub result { my ($ok, $what) = @_; my $why = $!; print $ok ? "CONNECTED $what\\n" : "REFUSED $what $why\\n" }

sub tcp {
  my ($host, $port) = @_;
  my $address = inet_aton($host);
  return print("REFUSED $host is no address here\\n") unless defined $address;
  socket(my $s, AF_INET, SOCK_STREAM, 0) or return print("REFUSED socket $!\\n");
  result(connect($s, pack_sockaddr_in($port, $address)), "$host:$port");
}

sub tcp6 {
  my ($host, $port) = @_;
  socket(my $s, AF_INET6, SOCK_STREAM, 0) or return print("REFUSED socket $!\\n");
  result(connect($s, pack_sockaddr_in6($port, inet_pton(AF_INET6, $host))), "[$host]:$port");
}

sub udp {
  my ($host, $port, $text) = @_;
  socket(my $s, AF_INET, SOCK_DGRAM, 0) or return print("REFUSED socket $!\\n");
  setsockopt($s, SOL_SOCKET, SO_BROADCAST, 1);
  print send($s, $text, 0, pack_sockaddr_in($port, inet_aton($host))) ? "SENT $host:$port\\n" : "REFUSED $host:$port $!\\n";
}

sub unix {
  my ($path) = @_;
  socket(my $s, AF_UNIX, SOCK_STREAM, 0) or return print("REFUSED socket $!\\n");
  result(connect($s, pack_sockaddr_un($path)), $path =~ s/\\0/@/r);
}

sub question { my ($name) = @_; pack('n6', 4711, 0x100, 1, 0, 0, 0) . join('', map { pack('C/a', $_) } split /\\./, $name) . pack('Cn2', 0, 1, 1) }

# Sends the bytes to the proxy, more of them once it has answered, and answers with all that came back.
sub proxy {
  my ($bytes, $more) = @_;
  socket(my $s, AF_INET, SOCK_STREAM, 0) or return '';
  connect($s, pack_sockaddr_in(3128, inet_aton('127.0.0.1'))) or return print("NO PROXY $!\\n") && '';
  syswrite($s, $bytes);
  my $all = '';
  local $SIG{ALRM} = sub { close $s };
  alarm 3;
  while (sysread($s, my $got, 65536)) {
    $all .= $got;
    if (defined $more) { syswrite($s, $more); undef $more }
    last if $all =~ /\\r\\n\\r\\n(granted|pwned!)$/;
  }
  alarm 0;
  print 'ANSWER ', ($all =~ /^(.*?)\\r?\\n/)[0] // 'nothing', "\\n";
  return $all;
}

# The first message of TLS 1.2 for this host.
sub client_hello {
  my ($host) = @_;
  my $name = pack('n/a', pack('C n/a', 0, $host));
  my $extensions = pack('n n/a', 0, $name) . pack('n n/a', 10, pack('n n', 2, 23)) . pack('n n/a', 13, pack('n n', 2, 0x0403));
  my $body = pack('n', 0x0303) . 'r' x 32 . pack('C', 0) . pack('n n', 2, 0xc02f) . pack('C C', 1, 0) . pack('n/a', $extensions);
  my $message = pack('C', 1) . substr(pack('N', length $body), 1) . $body;
  return pack('C n n/a', 22, 0x0301, $message);
}
1;
`;
