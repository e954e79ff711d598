// Owns: the shell text that contains a program with bubblewrap: no network, no capability, only out/ and /tmp to write to.
// Refuses: to run as root outside; there the program becomes a user of no account, which sees nothing but its own folders.
import { WORK_FOLDER } from '../../contract/plan.ts';
import {
  LIMIT_LINE,
  QUEUES_FOLDER,
  RUN_HOST_NAME,
  RUN_PATH,
  RUN_SCRATCH,
  RUN_USER,
} from '../../contract/run-environment.ts';
import { type ContainedProgram, IMAGE_ENV, OUTSIDE_ID } from './contained-program.ts';
import { shWord } from './sh-word.ts';

export interface BubblewrapContainer {
  readonly kind: 'bubblewrap';
  /**
   * Where the nodes have the unpacked file system of a pinned image, read-only. A plan without an image sees the
   * programs and libraries of the node; one with an image that is not here does not run.
   */
  readonly images?: Readonly<Record<string, string>>;
  /** System call filters by the name that `uname -m` has for a node's CPU. */
  readonly seccomp?: Readonly<Record<string, Uint8Array>>;
}

export function bubblewrapScript(
  { images = {}, seccomp = {} }: BubblewrapContainer,
  { argv, env, image }: ContainedProgram,
): string {
  const root = image === undefined ? '' : (images[image] ?? '');
  const filters = Object.entries(seccomp).map(
    ([machine, filter]) => `  ${shWord(machine)}) echo ${Buffer.from(filter).toString('base64')} ;;`,
  );
  const filter = filters.length === 0 ? '' : FILTER.replace('FILTERS', filters.join('\n'));
  const variables = Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]);
  const words = [...variables, '--chdir', WORK_FOLDER, '--', ...argv].map(shWord);
  return [
    HOOKS,
    `root=${shWord(root)}`,
    STAGE,
    filter,
    `set -- "$@" --clearenv --setenv PATH ${RUN_PATH}`,
    image === undefined ? '' : IMAGE_ENV('--setenv "${line%%=*}" "${line#*=}"'),
    `set -- "$@" ${words.join(' ')}`,
  ].join('\n');
}

/** `look` holds what is seen of the sandbox from outside against what is promised; the program waits at the gate until then. */
const HOOKS = `
look() {
  caps= privs= root_= in_= out_=
  while read -r key value _; do
    case $key in CapInh: | CapPrm: | CapEff: | CapBnd: | CapAmb:) caps=$caps$value ;; NoNewPrivs:) privs=$value ;; esac
  done <"/proc/$inside/status" || return 1
  case $caps in '' | *[!0]*) return 1 ;; esac
  [ "$privs" = 1 ] || return 1
  while read -r face _; do
    case $face in lo:* | Inter-* | face) ;; *) return 1 ;; esac
  done <"/proc/$inside/net/dev" || return 1
  while read -r _ _ _ _ at options _; do
    case $at:$options in
      /:ro*) root_=1 ;; /work/in:ro*) in_=1 ;; /work/out:rw*) out_=1 ;;
      /tmp:rw* | /dev/*:rw* | *:ro,* | *:ro) ;;
      *) return 1 ;;
    esac
  done <"/proc/$inside/mountinfo" || return 1
  [ "$root_$in_$out_" = 111 ]
}
is_seen() {
  inside=$(sed -n 's/.*"child-pid": *\\([0-9]*\\).*/\\1/p' "$scratch/status")
  [ -n "$inside" ] && look
}
note_seen() { for part in status net/dev mountinfo; do echo "== $part"; cat "/proc/$inside/$part"; done >"$meta/observed"; }
end_contained() { kill -KILL "$sandbox" 2>/dev/null; }
judge_code() { ! grep -q exit-code "$scratch/status" || started=true; }
`;

const SCRATCH = RUN_SCRATCH.places
  .map((place) => `--perms ${RUN_SCRATCH.mode} --size "$memory" --tmpfs ${place}`)
  .join(' ');

/**
 * Each entry of the root is bound by itself, since a mount point cannot be made in a root that is bound read-only. As
 * root, folders are mounted where the other user can reach them, in a mount namespace that ends with the program.
 * /proc is read-only as a whole. A background job of a shell ignores SIGINT and SIGQUIT; programs should not.
 */
const STAGE = `
from_in=$folder/in from_out=$out drop=
env --default-signal true 2>/dev/null && fresh='env --default-signal' || fresh=
[ -z "$root" ] || [ -d "$root" ] || cannot 'the image is not on the node'
if [ "$(id -u)" = 0 ]; then
  chmod 711 "$scratch" && mkdir -m 711 "$scratch/m" && mkdir -m 700 "$scratch/m/in" "$scratch/m/out" "$scratch/m/root" &&
    chown ${OUTSIDE_ID}:${OUTSIDE_ID} "$out" "$scratch/1" "$scratch/2" && chmod 700 "$out" && chmod -R a+rX "$folder/in" ||
    cannot 'the folders of the attempt cannot be given to an ordinary user'
  from_in=$scratch/m/in from_out=$scratch/m/out
  drop='setpriv --reuid ${OUTSIDE_ID} --regid ${OUTSIDE_ID} --clear-groups --inh-caps=-all --bounding-set=-all --'
fi
export folder out scratch root drop fresh
contain() {
  [ ! -s "$scratch/filter" ] || exec 9<"$scratch/filter"
  # The program goes first when memory runs out, not what watches it.
  echo 900 >/proc/self/oom_score_adj
  { ${LIMIT_LINE}; } 2>/dev/null
  [ -n "$drop" ] || exec $fresh bwrap "$@"
  exec unshare --mount --propagation private sh -c '
    mount --bind "$folder/in" "$scratch/m/in" && mount --bind "$out" "$scratch/m/out" || exit 125
    [ -z "$root" ] || mount --bind "$root" "$scratch/m/root" || exit 125
    exec $drop $fresh bwrap "$@"' sh "$@"
}
set -- --unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session \\
  --hostname ${RUN_HOST_NAME} --uid ${RUN_USER.uid} --gid ${RUN_USER.gid}
for from in "$root"/*; do
  entry=\${from##*/}
  case \${root:+image}:$entry in
    :usr | :bin | :sbin | :lib | :lib32 | :lib64 | :libx32) ;;
    :* | image:proc | image:dev | image:sys | image:tmp | image:work) continue ;;
  esac
  if [ -L "$from" ]; then set -- "$@" --symlink "$(readlink "$from")" "/$entry"
  elif [ -z "$root" ] || [ -z "$drop" ]; then set -- "$@" --ro-bind "$from" "/$entry"
  else set -- "$@" --ro-bind "$scratch/m/root/$entry" "/$entry"; fi
done
if [ -z "$root" ]; then
  mkdir -m 755 "$scratch/etc"
  echo 'haft:x:${RUN_USER.uid}:${RUN_USER.gid}:Haft:/tmp:/bin/sh' >"$scratch/etc/passwd"
  echo 'haft:x:${RUN_USER.gid}:' >"$scratch/etc/group"
  echo '127.0.0.1 localhost ${RUN_HOST_NAME}' >"$scratch/etc/hosts"
  printf 'passwd: files\\ngroup: files\\nhosts: files\\n' >"$scratch/etc/nsswitch.conf"
  : >"$scratch/etc/ld.so.cache"
  mkdir "$scratch/etc/alternatives"
  chmod -R a+rX "$scratch/etc"
  set -- "$@" --ro-bind "$scratch/etc" /etc
  for entry in ld.so.cache alternatives; do
    [ ! -e "/etc/$entry" ] || set -- "$@" --ro-bind "/etc/$entry" "/etc/$entry"
  done
fi
set -- "$@" --proc /proc --remount-ro /proc --dev /dev --mqueue ${QUEUES_FOLDER} ${SCRATCH} \\
  --remount-ro /dev --dir ${WORK_FOLDER} --ro-bind "$from_in" ${WORK_FOLDER}/in \\
  --bind "$from_out" ${WORK_FOLDER}/out --remount-ro / --json-status-fd 6 --block-fd 7`;

const FILTER = `
case $(uname -m) in
FILTERS
esac | base64 -d >"$scratch/filter"
[ -s "$scratch/filter" ] || cannot 'there is no system call filter for the CPU of the node'
filtered=2
set -- "$@" --seccomp 9`;
