// Owns: the shell text that contains a program with Apptainer: nothing but out/ and /tmp to write to, no network, as an ordinary user.
// Refuses: jobs of root, and to trust its own flags: no Apptainer was there to try them on, so what is seen from inside decides.
import { WORK_FOLDER } from '../../contract/plan.ts';
import { RUN_HOST_NAME, RUN_PATH } from '../../contract/run-environment.ts';
import { ENTRY_PROGRAM, entryScript, LIFELINE_PIPE } from '../entry-script.ts';
import {
  type ContainedProgram,
  DEVICE_MOUNTS,
  ENTRY_HOOKS,
  entryStage,
  IMAGE_ENV,
} from './contained-program.ts';
import { shWord } from './sh-word.ts';

export interface ApptainerContainer {
  readonly kind: 'apptainer';
  /** Where the nodes have a pinned image: its unpacked file system, or a SIF file. */
  readonly images: Readonly<Record<string, string>>;
  /** The program on the nodes. By default the one of that name on their PATH. */
  readonly command?: string;
  /** A statically linked busybox on the nodes, which looks at the container from inside. By default the usual places. */
  readonly busybox?: string;
  /** A filter of system calls on the nodes. By default Apptainer's own, where its packages put it. */
  readonly seccomp?: string;
}

export function apptainerScript(container: ApptainerContainer, program: ContainedProgram): string {
  const { images, command = 'apptainer', busybox, seccomp = USUAL_FILTER } = container;
  const { argv, env, image = '' } = program;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const entry = [...variables, ENTRY_PROGRAM, 'sh', '-c', ENTRY, 'haft'].map(shWord).join(' ');
  return [
    ENTRY_HOOKS,
    HOOKS,
    '[ "$(id -u)" != 0 ] || cannot \'jobs of root are not contained with Apptainer\'',
    `root=${shWord(images[image] ?? '')}`,
    '[ -e "$root" ] || cannot \'the image is not on the node\'',
    entryStage(busybox),
    'set --',
    IMAGE_ENV('"$line"'),
    'mkdir -m 700 "$scratch/w"',
    [
      `set -- ${shWord(command)} --silent exec --containall --cleanenv --no-home --no-mount tmp,home,cwd --no-eval`,
      `--net --network none --no-privs --security ${shWord(`seccomp:${seccomp}`)} --hostname ${RUN_HOST_NAME}`,
      `--workdir "$scratch/w" --scratch /tmp --pwd ${WORK_FOLDER}`,
      `--mount "type=bind,src=$folder/in,dst=${WORK_FOLDER}/in,ro" --mount "type=bind,src=$out,dst=${WORK_FOLDER}/out"`,
      `--mount "type=bind,src=$busybox,dst=${ENTRY_PROGRAM},ro" --mount "type=bind,src=$scratch/gate,dst=${LIFELINE_PIPE},ro"`,
      // Apptainer brings variables of its own, so that the environment is made anew.
      `"$root" ${ENTRY_PROGRAM} env -i PATH=${RUN_PATH} "$@" ${entry} "$facts" "$network" '' ${argv.map(shWord).join(' ')}`,
    ].join(' \\\n  '),
  ].join('\n');
}

const ENTRY = entryScript({ lifeline: true, alsoWritable: DEVICE_MOUNTS });
const USUAL_FILTER = '/etc/apptainer/seccomp-profiles/default.json';

/** The container is a part of the job: its processes are those that have a number of their own inside. */
const HOOKS = `
contain() { exec "$@" 6>&- 7>&-; }
note_seen() { :; }
end_contained() {
  for process in $(cat "$group/cgroup.procs"); do
    case $(sed -n 's/^NSpid:[^0-9]*//p' "/proc/$process/status" 2>/dev/null) in *[0-9][!0-9]*) kill -KILL "$process" 2>/dev/null ;; esac
  done
  kill -KILL "$sandbox" 2>/dev/null
}
lost() { false; }
`;
