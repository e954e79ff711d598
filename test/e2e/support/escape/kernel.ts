// Owns: programs that ask the kernel for more than a sandbox has: mounts, namespaces, users, devices, other processes.
// Refuses: to trust an error message; a call that was granted says DONE, and what it would change is looked at as well.
import { type EscapeCase, script } from './case.ts';

/** Perl that calls the kernel by number: `try_call` prints REFUSED with the error, or DONE. */
const perl = (category: string, name: string, text: string): EscapeCase =>
  script(category, name, 'granted', `require './attacks/kit.pl';\n${text}`, {
    language: 'perl',
    tried: /^REFUSED /m,
  });

/** Shell; every attempt that works is followed by DONE. */
const bash = (category: string, name: string, ...attempts: string[]): EscapeCase =>
  script(category, name, 'granted', attempts.map((one) => `(${one}) && echo "DONE: ${name}"`).join('\n'));

export const KERNEL: readonly EscapeCase[] = [
  // Mounting
  perl('mount', 'mount a tmpfs', `try_call('mount', 'none', '/tmp', 'tmpfs', 0, 0);`),
  perl(
    'mount',
    'bind the root elsewhere',
    `mkdir '/tmp/m'; try_call('mount', '/', '/tmp/m', '', 4096 | 16384, 0);`,
  ),
  perl('remount', 'remount / writable', `try_call('mount', 'none', '/', '', 32 | 4096, 0);`),
  perl(
    'remount',
    'remount haft.yaml writable',
    `try_call('mount', 'none', "$ENV{PWD}/haft.yaml", '', 32 | 4096, 0);`,
  ),
  perl('remount', 'remount /proc writable', `try_call('mount', 'none', '/proc', '', 32, 0);`),
  perl('mount', 'unmount what hides .haft', `try_call('umount2', "$ENV{PWD}/.haft", 2);`),
  perl('mount', 'unmount the read-only .git', `try_call('umount2', "$ENV{PWD}/.git", 2);`),
  perl('mount', 'pivot_root', `mkdir '/tmp/r'; try_call('pivot_root', '/tmp/r', '/tmp/r');`),
  perl('mount', 'chroot', `try_call('chroot', '/tmp');`),
  perl(
    'mount',
    'the new calls: open_tree, fsopen, mount_setattr',
    `
try_call('open_tree', -100, '/', 1);
try_call('fsopen', 'tmpfs', 0);
try_call('fspick', -100, '/', 0);
my $attr = pack('Q4', 0, 1, 0, 0);
try_call('mount_setattr', -100, '/', 0x8000, $attr, 32);
try_call('move_mount', -100, '/tmp', -100, '/mnt', 0);`,
  ),
  bash(
    'mount',
    'mount by its program',
    'mount -t tmpfs x /tmp 2>&1',
    'mount -o remount,rw,bind / 2>&1',
    'umount /proc 2>&1',
  ),
  // Namespaces
  perl(
    'namespaces',
    'unshare each kind',
    `try_call('unshare', $_) for (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x4000000, 0x2000000, 0x8000000, 0x10020000);`,
  ),
  perl('namespaces', 'clone into a new user namespace', `try_call('clone', 0x10000000 | 17, 0, 0, 0, 0);`),
  perl(
    'namespaces',
    'clone3 into a new user namespace',
    `my $args = pack('Q11', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0); try_call('clone3', $args, 88);`,
  ),
  perl(
    'namespaces',
    'enter those of process 1',
    `for my $kind (qw(mnt net pid user ipc uts cgroup)) { open(my $f, '<', "/proc/1/ns/$kind") or print("REFUSED open $kind\\n"), next; try_call('setns', fileno($f), 0); }`,
  ),
  bash(
    'namespaces',
    'unshare and nsenter by their programs',
    'unshare -Ur true',
    'unshare -m true',
    'unshare -n true',
    'nsenter -t 1 -m -U true',
  ),
  bash(
    'namespaces',
    'map other users',
    'echo "0 0 1" > /proc/self/uid_map',
    'echo deny > /proc/self/setgroups',
  ),
  // Users and files that change them
  perl(
    'setuid',
    'become root',
    `try_call('setuid', 0); try_call('setresuid', 0, 0, 0); try_call('setgid', 0); my $groups = pack('L', 0); try_call('setgroups', 1, $groups);`,
  ),
  perl(
    'setuid',
    'take every capability',
    `my $head = pack('LL', 0x20080522, 0); my $data = pack('L6', (0xffffffff) x 6); try_call('capset', $head, $data);`,
  ),
  bash(
    'setuid',
    'become root by programs',
    'echo | su root -c true',
    'echo | su -c true',
    'newgrp root </dev/null',
    'setpriv --reuid 0 true',
    '/sbin/runuser -u root true',
  ),
  bash(
    'setuid',
    'leave a set-user-ID file',
    'cp /bin/sh suid && chmod 4755 suid',
    'cp /bin/sh sgid && chmod g+s sgid',
    'install -m 6755 /bin/sh both',
  ),
  perl(
    'setuid',
    'leave a set-user-ID file by other calls',
    `
open(my $f, '>', 'perl-suid'); close $f;
try_call('fchmodat', -100, 'perl-suid', 04755);
try_call('fchmodat2', -100, 'perl-suid', 04755, 0);
try_call('openat', -100, 'perl-suid2', 0101, 04755);
try_call('mknodat', -100, 'perl-suid3', 0104755, 0);`,
  ),
  bash(
    'setuid',
    'give a file to root',
    'touch given && chown 0:0 given',
    'touch given && chgrp 0 given && [ "$(stat -c %g given)" = 0 ]',
  ),
  perl(
    'setuid',
    'make devices',
    `try_call('mknodat', -100, 'disk', 060666, 0x0800); try_call('mknodat', -100, '/tmp/mem', 020666, 0x0101);`,
  ),
  // Other processes
  perl(
    'ptrace',
    'attach to a process of the host',
    `try_call('ptrace', 16, $ENV{VICTIM} + 0, 0, 0); try_call('ptrace', 0x4206, $ENV{VICTIM} + 0, 0, 0);`,
  ),
  perl(
    'ptrace',
    'attach to Haft',
    `try_call('ptrace', 16, $ENV{HOST} + 0, 0, 0); try_call('ptrace', 0x4206, $ENV{HOST} + 0, 0, 0);`,
  ),
  perl(
    'ptrace',
    'read the memory of a process of the host',
    `my ($to, $at) = ("\\0" x 16, 0); my $local = pack('PQ', $to, 16); my $remote = pack('QQ', 4096, 16); try_call('process_vm_readv', $ENV{HOST} + 0, $local, 1, $remote, 1, 0);`,
  ),
  perl(
    'ptrace',
    'take descriptors of a process of the host',
    `my $fd = try_call('pidfd_open', $ENV{HOST} + 0, 0); try_call('pidfd_getfd', $fd, 0, 0);`,
  ),
  script(
    'ptrace',
    'signal processes of the host',
    'process',
    'kill -9 $VICTIM $HOST; kill -STOP $VICTIM; kill -9 -$HOST',
  ),
  script('ptrace', 'signal everybody', 'process', "trap '' TERM\nkill -TERM -1\nkill -CONT -1"),
  script(
    '/proc/1',
    'look into process 1',
    'secret',
    'cat /proc/1/environ /proc/1/cmdline /proc/1/root$OUTSIDE/secret.txt /proc/1/cwd/../../../../$OUTSIDE/secret.txt; ls /proc/1/root/root /proc/1/fd | head -50',
  ),
  script(
    '/proc/1',
    'look into Haft and its keeper',
    'secret',
    'cat /proc/$HOST/environ /proc/$HOST/root$OUTSIDE/secret.txt /proc/$HOST/fd/3/secret.txt /proc/[0-9]*/environ | tr "\\0" "\\n"',
  ),
  script(
    '/proc/1',
    'write to the memory of process 1',
    'granted',
    '(echo x > /proc/1/mem) 2>/dev/null && echo DONE; (echo 1000 > /proc/1/oom_score_adj) 2>/dev/null && echo DONE',
  ),
  script(
    '/proc/self/root',
    'walk up from /proc/self',
    'secret',
    'cat /proc/self/root$OUTSIDE/secret.txt /proc/self/cwd/../../../../../..$OUTSIDE/secret.txt /proc/thread-self/root$OUTSIDE/secret.txt $OUTSIDE/secret.txt /etc/shadow',
  ),
  script(
    '/proc/self/root',
    'write by way of /proc/self',
    'outside',
    'echo x > /proc/self/root$OUTSIDE/pwned; echo x > /proc/self/cwd/../../../..$OUTSIDE/pwned; cp /bin/true /proc/self/root/usr/bin/pwned',
  ),
  script(
    '/proc/self/root',
    'replace the running interpreter',
    'granted',
    '(cat attacks/kit.pl > /proc/self/exe) 2>/dev/null && echo DONE; (echo x > /usr/bin/bash) 2>/dev/null && echo DONE',
  ),
  // The machine itself
  bash(
    'settings',
    'write kernel settings',
    'echo "|/tmp/x" > /proc/sys/kernel/core_pattern',
    'echo /tmp/x > /proc/sys/kernel/modprobe',
    'echo b > /proc/sysrq-trigger',
    'echo 1 > /proc/sys/vm/drop_caches',
    'echo /tmp/x > /sys/kernel/uevent_helper',
    'mkdir /sys/fs/cgroup/pwned',
  ),
  perl(
    'settings',
    'calls of the administrator',
    `
try_call('sethostname', 'pwned', 5);
my $time = pack('QQ', 1, 0); try_call('settimeofday', $time, 0);
try_call('swapon', '/tmp/none', 0); try_call('acct', '/tmp/none');
try_call('syslog', 5, 0, 0);
try_call('init_module', "\\0" x 8, 8, '');
my $none = ''; try_call('kexec_load', 0, 0, $none, 0);`,
  ),
  perl(
    'settings',
    'bpf, perf, keys, io_uring, userfaultfd',
    `
my $attr = "\\0" x 128;
try_call('bpf', 0, $attr, 128);
try_call('perf_event_open', $attr, -1, 0, -1, 0);
try_call('keyctl', 0, -3, 1); try_call('add_key', 'user', 'pwned', 'x', 1, -3);
try_call('io_uring_setup', 8, $attr);
try_call('userfaultfd', 0);`,
  ),
  perl(
    'settings',
    'open files by their handles',
    `
my $handle = pack('LL', 128, 0) . "\\0" x 128; my $mount = pack('l', 0);
try_call('name_to_handle_at', -100, '/', $handle, $mount, 0) if 0;
my $two = pack('LlQ', 8, 1, 2); open(my $f, '<', '.');
try_call('open_by_handle_at', fileno($f), $two, 0);`,
  ),
  bash(
    'settings',
    'read the machine',
    'head -c1 /dev/mem',
    'head -c1 /dev/kmsg',
    'head -c1 /proc/kcore',
    'cat /proc/kmsg </dev/null',
    'ls /dev/sd* /dev/vd* /dev/nvme* 2>/dev/null | grep .',
    'ls /sys/kernel',
  ),
  perl(
    'settings',
    'change the network',
    `use Socket; socket(my $s, AF_INET, SOCK_DGRAM, 0); my $request = pack('a16 S n a4 x8', 'lo', 2, 0, pack('C4', 10, 9, 8, 7)); print(ioctl($s, 0x8916, $request) ? "DONE address\\n" : "REFUSED address $!\\n");`,
  ),
  perl(
    'settings',
    'sockets that no namespace holds',
    `for my $family (40, 17, 38, 15, 29, 31) { socket(my $s, $family, $family == 17 ? 3 : $family == 38 ? 5 : 1, 0) ? print("DONE $family\\n") : print("REFUSED $family $!\\n"); }`,
  ),
  perl(
    'settings',
    'type into the terminal of the host',
    `open(my $t, '+<', '/dev/tty') or print("REFUSED /dev/tty\\n"); my $c = 'x'; for my $f (0, 1, 2) { open(my $h, "<&=", $f) or next; print(ioctl($h, 0x5412, $c) ? "DONE typed\\n" : "REFUSED typed $!\\n"); }`,
  ),
  bash(
    'settings',
    'write to the system',
    'touch /usr/pwned',
    'touch /etc/pwned',
    'touch /pwned',
    'touch /dev/pwned',
    'touch /run/pwned',
    'touch /root/pwned',
    'echo x > /etc/ld.so.preload',
  ),
  script(
    'LD_PRELOAD',
    'preload into programs of the system',
    'granted',
    'cp /lib/*/libm.so.6 lib.so 2>/dev/null; for p in su mount passwd newgrp; do LD_PRELOAD=./lib.so $p --pwned </dev/null; done; (LD_PRELOAD=./lib.so su -c "touch /tmp/pwned") </dev/null && echo DONE',
  ),
];
