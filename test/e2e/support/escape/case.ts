// Owns: what an escape case is: the calls that try, how success would be seen, and what the calls must leave.
// Refuses: to run anything.
import type { AuditRow } from '../../../../src/contract/store.ts';
import type { CallResponse, JsonObject } from '../../../../src/index.ts';
import type { Arena } from './arena.ts';

/** How the success of an attack would be seen; `sights.ts` looks at all of these after every case. */
export type Sight =
  /** The stub program, or another command that no entry names, ran: it leaves a file. */
  | 'stub'
  /** A byte outside of the workspace changed. */
  | 'outside'
  /** Something that nobody may read is in an answer. */
  | 'secret'
  /** Somebody came to a server of the host, or asked its resolver for a name that is not granted. */
  | 'connection'
  /** A process of the line is left, or one of the host was ended, stopped or traced. */
  | 'process'
  /** Policy, state, packs, git's own files, or what policy fences off changed. */
  | 'protected'
  /** The kernel granted what it must not: the program says DONE, or mounts, settings or file modes changed. */
  | 'granted'
  /** More was used up than the limit says. */
  | 'limit';

export interface EscapeCase {
  readonly category: string;
  readonly name: string;
  readonly sight: Sight;
  readonly steps: readonly Step[];
  /** Needs a network of its own, and so root. */
  readonly network?: boolean;
  /** Mostly waits and leaves the workspace alone, so it may run beside the others. */
  readonly waits?: boolean;
  /** Makes the calls in another way than one after the other. Answers in the order of the steps, then of what else it called. */
  run?(arena: Arena): Promise<readonly CallResponse[]>;
}

export interface Step {
  readonly tool: string;
  /** `{closed}` and the like stand for values of the arena. */
  readonly args: JsonObject;
  /** A program whose file the line runs; `args` then has no `cmd`. */
  readonly script?: Script;
  /**
   * `refused`: nothing ran. `contained`: it ran in the sandbox. `quarantined`: so it did, and what it left was moved away.
   * `answered`: it did what it may.
   */
  readonly ends: 'refused' | 'contained' | 'quarantined' | 'answered';
  /** Of a refusal. */
  readonly reason?: RegExp;
  /** In what the program printed: it came to the attempt. */
  readonly tried?: RegExp;
  /** A connection that the proxy must have refused, as `host:port outcome`. */
  readonly connection?: RegExp;
  /** What else must hold of the answer and its row; answers with what does not. */
  check?(got: Got): string | undefined;
}

export interface Script {
  readonly language: 'bash' | 'perl';
  readonly text: string;
}

export interface Got {
  readonly response: CallResponse;
  readonly row: AuditRow;
  readonly facts: Facts;
  readonly arena: Arena;
}

/** What `shell_exec` leaves in its row. */
export interface Facts {
  readonly exit?: number | null;
  readonly signal?: string | null;
  readonly timed_out?: boolean;
  readonly limit?: string | null;
  readonly connections?: readonly {
    readonly host: string;
    readonly port: number;
    readonly outcome: string;
  }[];
}

const NOT_RUN = /^(shell|path|policy|http|input)\./;

/** Lines that are refused before anything of them runs. */
export const refused = (
  category: string,
  lines: readonly string[],
  { sight = 'stub' as Sight, reason = /^shell\./ } = {},
): EscapeCase[] =>
  lines.map((cmd) => ({
    category,
    name: JSON.stringify(cmd).slice(1, -1),
    sight,
    steps: [{ tool: 'shell_exec', args: { cmd }, ends: 'refused', reason }],
  }));

/** A call of any tool that is refused. */
export const refusedCall = (
  category: string,
  name: string,
  tool: string,
  args: JsonObject,
  { sight = 'stub' as Sight, reason = NOT_RUN } = {},
): EscapeCase => ({ category, name, sight, steps: [{ tool, args, ends: 'refused', reason }] });

type ScriptOptions = Partial<Omit<Step, 'tool' | 'ends' | 'script'>> & {
  readonly language?: Script['language'];
  readonly network?: boolean;
};

/** A program that policy grants, run for real in the sandbox. `tried` is printed at its end unless it says otherwise. */
export function script(
  category: string,
  name: string,
  sight: Sight,
  text: string,
  { language = 'bash', tried = /^tried$/m, network, args = {}, ...rest }: ScriptOptions = {},
): EscapeCase {
  const ending =
    tried.source === '^tried$'
      ? language === 'bash'
        ? '\necho; echo tried\n'
        : '\nprint "\\ntried\\n";\n'
      : '\n';
  return {
    category,
    name,
    sight,
    ...(network ? { network } : {}),
    steps: [
      {
        tool: 'limits' in args ? 'shell_limited' : 'shell_exec',
        args: { timeout_ms: 60_000, ...args },
        script: { language, text: text + ending },
        ends: 'contained',
        tried,
        ...rest,
      },
    ],
  };
}
