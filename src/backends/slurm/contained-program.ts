// Owns: what one program needs of whatever contains it on a node, and the shell text that several kinds of containers share.
// Refuses: to say what contains it.
import { shWord } from '../../base/shell/shell-quote.ts';
import type { RunResources } from '../../contract/plan.ts';
import { RUN_USER } from '../../contract/run-environment.ts';
import { BUSYBOX_PLACES, demandedFacts, ENTRY_CODES, OBSERVED_WORD } from '../entry-script.ts';

export interface ContainedProgram {
  readonly attemptId: string;
  readonly tool?: string;
  readonly argv: readonly string[];
  /** Without PATH and what else the image brings. */
  readonly env: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly resources: RunResources;
}

/** What a job of root becomes: a user id of no account, "haft" in hex. */
export const OUTSIDE_ID = 0x68616674;

/**
 * The entry of the container says what it sees as its first line, and waits; it is compared here before the gate opens.
 * The gate is the lifeline of the container: everything in it ends when the job no longer holds it.
 */
export const ENTRY_HOOKS = `
hear_first() {
  IFS= read -r line || return 0
  printf '%s\\n' "$line" >"$meta/observed.new" && mv "$meta/observed.new" "$meta/observed"
}
is_seen() {
  read -r line <"$meta/observed" || return 1
  case $line in "${OBSERVED_WORD} $facts writable="*) ;; *) return 1 ;; esac
}
judge_code() {
  started=true
  ! lost || finish killed
  case $code in
    ${ENTRY_CODES.containment}) finish containment ;;
    ${ENTRY_CODES.beganBefore} | ${ENTRY_CODES.cannotClaim}) cannot 'out/ is not its to write in the container' ;;
    ${ENTRY_CODES.notStarted}) started=false ;;
    ${ENTRY_CODES.memory}) oom=true ;;
    ${ENTRY_CODES.killedInside}) code=137 ;;
    137) finish killed ;;
  esac
}
patience=6000
`;

/** Sets `busybox`, `uid`, `gid`, `facts` and `network`, and gives the folders to that user. Of a path with a comma engines make two options. */
export const entryStage = (busybox: string | undefined): string => `
for busybox in ${(busybox === undefined ? BUSYBOX_PLACES : [busybox]).map(shWord).join(' ')}; do [ ! -x "$busybox" ] || break; done
[ -x "$busybox" ] || cannot 'the node has no busybox to look at the container from inside (busybox-static)'
case $folder$scratch$busybox in *[,\\"]*) cannot 'the path of the attempt has a comma or a quote in it' ;; esac
network=$(readlink /proc/self/ns/net) uid=$(id -u) gid=$(id -g)
if [ "$uid" = 0 ]; then
  uid=${RUN_USER.uid} gid=${RUN_USER.gid}
  chown "$uid:$gid" "$out" && chgrp "$gid" "$scratch/gate" && chmod 640 "$scratch/gate" && chmod -R a+rX "$folder/in" ||
    cannot 'the folders of the attempt cannot be given to an ordinary user'
else
  chmod 400 "$scratch/gate"
fi
chmod 1700 "$out"
facts="${demandedFacts('$uid:$gid')}"`;

/** Adds `words` to the arguments for each `line` of the file. `root` is where the image is. */
export const IMAGE_ENV = (words: string): string => `
environment=\${root%/}.env
[ -r "$environment" ] || cannot 'the node does not have the ENV of the image: write it to a file named like its folder with ".env" at the end (docker image inspect --format "{{range .Config.Env}}{{println .}}{{end}}" IMAGE)'
while IFS= read -r line || [ -n "$line" ]; do
  case $line in
    '') ;;
    [!=]*=*) set -- "$@" ${words} ;;
    *) cannot 'the ENV of the image is not as it must be: one NAME=value on each line' ;;
  esac
done <"$environment"`;

/** Shared memory, and terminals, which are no files. Not every kind of container has them; the job knows which, and has compared. */
export const DEVICE_MOUNTS = ['/dev/shm', '/dev/pts'];
