// Owns: the text of the batch script: claim, contain, run, watch, and say how it ended. It is all that runs on a node.
// Refuses: anything but a POSIX shell, coreutils, findutils and awk on the node, and to execute without the claim.
import type { Attempt } from '../../contract/backend.ts';
import { RUN_ENV } from '../../contract/plan.ts';
import { HOST_NAME } from './bubblewrap-script.ts';
import { containScript, type JobContainer } from './containers.ts';
import { shWord } from './sh-word.ts';

export interface ScriptRequest {
  readonly attempt: Attempt;
  readonly name: string;
  /** Where a file appears when a job claims or ends its attempt. */
  readonly bell: string;
  readonly container: JobContainer;
  readonly logBytes: number;
  readonly maxEntries: number;
}

/** What the script says about its end, in `meta/result.json`. */
export interface JobResult {
  readonly job: string;
  readonly restart: number;
  readonly node: string;
  /** `exit`: by itself. `told`: Slurm sent a signal. */
  readonly ended:
    | 'exit'
    | 'told'
    | 'setup'
    | 'containment'
    | 'limit.time'
    | 'limit.log_bytes'
    | 'limit.output_bytes';
  readonly code: number;
  /** Whether the program could be executed at all. */
  readonly started: boolean;
  readonly oom: boolean;
  readonly full: boolean;
  readonly outputs: readonly HashedOutput[];
}

/** Of a folder: the bytes of all its files, and the hash of the records that `hash-outputs.ts` tells of. */
export interface HashedOutput {
  readonly src: string;
  readonly bytes: number;
  readonly sha256: string;
}

export function jobScript({ attempt, name, bell, container, ...limits }: ScriptRequest): string {
  const { plan, folder } = attempt;
  const { wallMs, outputBytes, memoryBytes } = plan.resources;
  const values = {
    folder,
    name,
    bell,
    // Hundredths of a second, as /proc/uptime counts.
    wall: Math.ceil(wallMs / 10),
    max_out: outputBytes,
    max_log: limits.logBytes,
    max_entries: limits.maxEntries,
    memory: memoryBytes,
  };
  const { argv, image } = plan;
  const env = { ...RUN_ENV, HOSTNAME: HOST_NAME, PATH: INSIDE_PATH, ...plan.env };
  return [
    '#!/bin/sh',
    ...Object.entries(values).map(([key, value]) => `${key}=${shWord(String(value))}`),
    PROLOGUE,
    containScript(container, { argv, env, ...(image === undefined ? {} : { image }) }),
    RUN,
    'each_output() {',
    '  :',
    ...plan.outputs.map(({ src }) => `  output ${shWord(src)} ${shWord(JSON.stringify(src))}`),
    '}',
    EPILOGUE,
  ].join('\n');
}

const INSIDE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Up to the claim, and all ways to end. `once` tells by the link count when a network file system lost its answer. */
const PROLOGUE = `
set -u
umask 077
PATH=${INSIDE_PATH} LC_ALL=C
export PATH LC_ALL
meta=$folder/meta out=$folder/out
job=\${SLURM_JOB_ID:-0} restart=\${SLURM_RESTART_COUNT:-0} node=\${SLURMD_NODENAME:-}
mine=$job.$restart.$$
once() {
  sync "$1" && { ln -T "$1" "$2" 2>/dev/null || [ "$(stat -c %h "$1")" = 2 ]; }
  set -- "$1" "$?"
  rm -f "$1"; sync "$meta"
  return "$2"
}
printf '{"by":"job","job":"%s","restart":%s,"node":"%s"}\\n' "$job" "$restart" "$node" >"$meta/claim.$mine" || exit 1
once "$meta/claim.$mine" "$meta/claim" || { [ -e "$meta/claim" ]; exit; }
: >"$bell/$name.claimed"
told= sandbox= inside= scratch= streams= filtered=
code=-1 started=false oom=false full=false outputs=
trap 'told=1; [ -z "$sandbox" ] || kill -KILL "$sandbox" 2>/dev/null' TERM INT HUP
finish() {
  trap '' TERM INT HUP
  [ -z "$told" ] || [ "$1" != exit ] || set -- told
  [ -z "$streams" ] || kill -KILL $streams 2>/dev/null
  printf '{"v":1,"job":"%s","restart":%s,"node":"%s","ended":"%s","code":%s,"started":%s,"oom":%s,"full":%s,"outputs":[%s]}\\n' \\
    "$job" "$restart" "$node" "$1" "$code" "$started" "$oom" "$full" "$outputs" >"$meta/result.$mine" &&
    once "$meta/result.$mine" "$meta/result.json"
  : >"$bell/$name.ended"
  [ -z "$scratch" ] || rm -rf "$scratch"
  [ "$1" != exit ] || [ "$code" -lt 0 ] || exit "$code"
  exit 1
}
cannot() { printf '%s\\n' "$1" >"$meta/trouble"; finish setup; }
scratch=$(mktemp -d "\${TMPDIR:-/tmp}/haft.XXXXXXXX") || cannot 'no temporary folder can be made on the node'
group=$(sed -n 's|^[0-9]*:memory:|/sys/fs/cgroup/memory|p' /proc/self/cgroup)
[ -n "$group" ] || group=$(sed -n 's|^0::|/sys/fs/cgroup|p' /proc/self/cgroup)
oom_kills() { sed -n 's/^oom_kill //p' "$group/memory.oom_control" "$group/memory.events" 2>/dev/null | head -n 1; }
mkfifo "$scratch/1" "$scratch/2" "$scratch/gate" && : >"$scratch/status" && : >"$meta/log" ||
  cannot 'files cannot be made on the node'
`;

/**
 * `look` holds what is seen of the sandbox against what is promised; it is asked until it agrees, since the sandbox is
 * being made meanwhile, and the program waits at the gate until then. Files that were unlinked count for as long as
 * they are open. `tee` outlives a SIGTERM to the job, so that the log is whole.
 */
const RUN = `
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
written() {
  find "$out" -mindepth 1 -printf '%s %b %y\\n'
  find -L $(sed 's|.*|/proc/&/fd|' "$group/cgroup.procs") -maxdepth 1 -type f -links 0 -printf '%D:%i %s %b\\n' |
    awk -v device="$(stat -c %d "$out"):" 'index($1, device) == 1 && !seen[$1]++ { print $2, $3, "f" }'
}
over() { echo "$1" >"$scratch/why"; kill -KILL "$sandbox"; exit; }
watch() {
  while sleep 0.25; do
    read -r now _ </proc/uptime
    [ "\${now%.*}\${now#*.}" -lt "$deadline" ] || over limit.time
    [ "$(stat -c %s "$meta/log")" -le "$max_log" ] || over limit.log_bytes
    # Space may be set aside beyond the end of a file, by some file systems without being asked.
    written | awk -v bytes="$max_out" -v entries="$max_entries" '
      { n++; taken += $2 * 512 } $3 == "f" { size += $1 }
      END { exit size > bytes || taken > 2 * bytes + 67108864 || n > entries }' || over limit.output_bytes
  done
}
for stream in 1:stdout 2:stderr; do
  (trap '' TERM INT HUP; exec tee -a "$meta/log" <"$scratch/\${stream%:*}" >"$meta/\${stream#*:}") &
  streams="$streams $!"
done
kills=$(oom_kills)
# Opened both ways, so that it waits for nobody.
exec 7<>"$scratch/gate"
contain "$@" </dev/null >"$scratch/1" 2>"$scratch/2" 6>"$scratch/status" &
sandbox=$!
tries=0
until [ -n "$inside" ] && look 2>/dev/null; do
  tries=$((tries + 1))
  if [ -n "$told" ] || [ "$tries" -gt 500 ] || ! kill -0 "$sandbox" 2>/dev/null; then
    kill -KILL "$sandbox" 2>/dev/null
    wait "$sandbox"
    [ -z "$told" ] || finish told
    [ -z "$inside" ] || finish containment
    cannot "no sandbox can be made on the node: $(head -c 300 "$meta/stderr" | tr -d '\\000-\\037')"
  fi
  sleep 0.01
  inside=$(sed -n 's/.*"child-pid": *\\([0-9]*\\).*/\\1/p' "$scratch/status")
done
for part in status net/dev mountinfo; do echo "== $part"; cat "/proc/$inside/$part"; done >"$meta/observed"
read -r now _ </proc/uptime
deadline=$((\${now%.*}\${now#*.} + wall))
echo >&7
watch 2>/dev/null 7>&- &
watcher=$!
tries=0
while [ -n "$filtered" ] && [ "$tries" -lt 50 ]; do
  tries=$((tries + 1))
  seccomp=$(sed -n 's/^Seccomp:[^0-9]*//p' "/proc/$inside/status" 2>/dev/null)
  [ "$seccomp" = 2 ] && printf '== seccomp\\n2\\n' >>"$meta/observed" && break
done
`;

/**
 * `wait` answers early when a signal comes. bubblewrap may end a moment before its first process inside; once that one
 * is dead, though perhaps not yet collected, all others are gone.
 */
const EPILOGUE = `
folder_records() {
  cd "./$1" || exit
  find . -mindepth 1 -type d -printf 'folder %P\\0'
  find . -type f -perm -100 -printf 'runs %P\\0'
  find . -type f -exec sha256sum -z -- {} +
}
output() {
  case $1 in
    */) [ -d "$1" ] || return
      bytes=$(find "./$1" -type f -printf '%s\\n' | awk '{ sum += $1 } END { printf "%.0f", sum }')
      sum=$(folder_records "$1" | sort -z | sha256sum) ;;
    *) [ -f "$1" ] || return
      bytes=$(stat -c %s -- "$1") sum=$(sha256sum <"$1") ;;
  esac
  outputs="$outputs\${outputs:+,}{\\"src\\":$2,\\"bytes\\":$bytes,\\"sha256\\":\\"\${sum%% *}\\"}"
}
alive() {
  [ -r "/proc/$inside/status" ] || return 1
  while read -r key value _; do case $key$value in State:[ZX]) return 1 ;; esac; done <"/proc/$inside/status"
} 2>/dev/null
wait "$sandbox"
code=$?
while kill -0 "$sandbox" 2>/dev/null; do wait "$sandbox"; code=$?; done
tries=0
while alive && [ "$tries" -lt 500 ]; do tries=$((tries + 1)); sleep 0.01; done
kill "$watcher" 2>/dev/null
wait $streams
streams=
[ "$(oom_kills)" = "$kills" ] || oom=true
[ "$(stat -f -c %a "$out")" -gt 0 ] || full=true
[ ! -s "$scratch/why" ] || finish "$(cat "$scratch/why")"
[ -z "$told" ] || finish told
! grep -q exit-code "$scratch/status" || started=true
if [ "$code" = 0 ] && cd "$out" && [ -z "$(find . -type l | head -n 1)" ]; then each_output; fi
finish exit
`;
