// Owns: the shell text of the keeper: it makes slots, and when its input ends, for whatever reason, it ends them
// and removes what they used. And the Perl text that shows it a folder, root's to another user (an id-mapped mount).
// Refuses: to remove anything recursively but the two folders in which nothing is ever mounted; a workspace is near.

/**
 * Arguments: the scratch folder, `private` or `shared` mounts, the shell, the words that drop privileges,
 * SHOW, and cgroup folders. Then it obeys lines from stdin and answers on stdout.
 *
 * A slot's fds 0 and 3 are opened before it loses its privileges. A background job of a shell ignores SIGINT and
 * SIGQUIT, and so would every program below it: `env --default-signal` takes that back. Before a slot is killed its
 * parent is looked at: the number of one that died earlier may be somebody else's by now. SIGPIPE is caught, because
 * its reader may die while it answers, and then there is something to remove.
 *
 * With a slot its bubblewrap dies, and with that what is in the sandbox; but a bubblewrap that dies between making a
 * sandbox and letting it begin leaves it waiting for ever (tried). Such a one is still in the slot's cgroup; where there
 * are none, its words tell whose it is.
 */
export const KEEPER = `
umask 077
trap : PIPE
scratch=$1 mounts=$2 shell=$3 drop=$4 show=$5; shift 5
cd "$scratch" || exit 70
env --default-signal true 2>/dev/null && fresh='env --default-signal' || fresh=
fifos() {
  for slot in "$@"; do set -- "$@" "$slot/cmd" "$slot/status" "$slot/in" "$slot/out" "$slot/err" "$slot/gate"; shift; done
  mkfifo -m 600 "$@" && echo "fifos ok" || echo "fifos failed"
}
slot() {
  n=$1; shift
  (
    cd "$n" || exit
    for group in "$@"; do echo 0 >"$group/cgroup.procs" || { echo X >status; exit; }; done
    exec $drop $fresh "$shell" -s <cmd >/dev/null 3>status
  ) &
  pids="$pids $!"
}
expose() {
  how=$1 kind=$2 from=$3 to=$4; shift 4
  if [ "$kind" = folder ]; then mkdir -m 755 "$to"; else : >"$to"; fi
  if perl -e "$show" "$how" "$from" "$to" "$@" 2>/dev/null; then echo "expose ok"
  elif [ "$how" = plain ] && mount --rbind "$from" "$to" && mount --make-rprivate "$to"; then echo "expose ok"
  else echo "expose failed"; fi
}
conceal() { umount -l "$1" 2>/dev/null; }
left() {
  if [ $# -gt 0 ]; then cat "$1"/[0-9]*/cgroup.procs | grep -vx 0
  else grep -laF -- "$scratch/share/" /proc/[0-9]*/cmdline | sed 's|[^0-9]||g'; fi 2>/dev/null
}
sweep() {
  tries=0
  while found=$(left "$@"); [ -n "$found" ] && [ $tries -lt 60 ]; do
    kill -9 $found 2>/dev/null; tries=$((tries + 1)); sleep 0.02
  done
}
if [ "$mounts" = private ]; then mount -t tmpfs -o mode=711,size=1m haft m || exit 72; fi
echo ready
pids=
while IFS= read -r line; do eval "$line"; done
for pid in $pids; do
  read -r _ _ _ parent _ 2>/dev/null <"/proc/$pid/stat" && [ "$parent" = $$ ] && kill -9 "$pid"
done
wait
sweep "$@"
[ "$mounts" = private ] && umount -l m
rm -f [0-9]*/cmd [0-9]*/status [0-9]*/in [0-9]*/out [0-9]*/err [0-9]*/gate
rm -rf share proxy
rmdir [0-9]* m 2>/dev/null
cd / && rmdir "$scratch" 2>/dev/null
tries=0
for group in "$@"; do
  until rmdir "$group"/[0-9]* "$group" 2>/dev/null || [ ! -d "$group" ] || [ $tries -gt 60 ]; do
    tries=$((tries + 1)); sleep 0.05
  done
done
`;

/**
 * Arguments: `mapped` or `plain`, source, destination, the process that sees the source and the number of setns on this
 * CPU; for `mapped` also the sandbox's id and the user and group that it shall stand for. The source, with everything
 * that is mounted in it, is taken as that process sees it now: what was mounted since the keeper began is not among the
 * keeper's own mounts. It appears at the destination, private, so that nothing mounted or unmounted later comes through
 * in either direction. Mapped, that owner's files belong to the sandbox's id in it, both ways; everybody else's stay theirs.
 * The other numbers are those of open_tree, mount_setattr and move_mount, equal on every CPU.
 */
export const SHOW = `
use strict;
my ($how, $from, $to, $seer, $setns, $id, $uid, $gid) = @ARGV;
my ($mapped, $ns, $pid, $w) = ($how eq "mapped");
sub map_ids {
  my ($kind, $owner) = @_;
  my $text = "$owner $id 1\\n";
  $text .= "0 0 $owner\\n" if $owner > 0;
  my $next = $owner + 1;
  $text .= "$next $next " . ($id - $next) . "\\n";
  open(my $f, ">", "/proc/$pid/$kind") or die "$kind: $!";
  syswrite($f, $text) or die "$kind: $!";
}
if ($mapped) {
  pipe(my $r, $w) or die;
  $pid = fork() // die;
  if (!$pid) { close $w; open(STDIN, "<&", $r) or die; exec "unshare", "-U", "sh", "-c", "read x"; die }
  close $r;
  my $own = readlink "/proc/self/ns/user";
  for (1 .. 4000) {
    last if (readlink("/proc/$pid/ns/user") // $own) ne $own;
    die "unshare" if waitpid($pid, 1) == $pid;
    select undef, undef, undef, 0.0005;
  }
  map_ids("uid_map", $uid); map_ids("gid_map", $gid);
  open($ns, "<", "/proc/$pid/ns/user") or die;
}
sub at {
  my ($process) = @_;
  open(my $mounts, "<", "/proc/$process/ns/mnt") or die "$process: $!";
  opendir(my $root, "/proc/$process/root/") or die "$process: $!";
  return [$mounts, $root];
}
sub go {
  my ($mounts, $root) = @{$_[0]};
  syscall($setns, fileno($mounts), 0x20000) == 0 or die "setns: $!";
  chdir $root or die "chdir: $!";
  chroot "." or die "chroot: $!";
}
my ($here, $there, $empty) = (at("self"), at($seer), "");
go($there);
my $tree = syscall(428, -100, $from, 1 | 0x80000 | 0x8000);
die "open_tree: $!" if $tree < 0;
go($here);
my $attr = pack("Q4", 2 | 4 | ($mapped ? 0x100000 : 0), 0, 1 << 18, $mapped ? fileno $ns : 0);
syscall(442, $tree, $empty, 0x1000 | 0x8000, $attr, 32) == 0 or die "mount_setattr: $!";
syscall(429, $tree, $empty, -100, $to, 4) == 0 or die "move_mount: $!";
if ($mapped) { close $w; waitpid $pid, 0 }
`;
