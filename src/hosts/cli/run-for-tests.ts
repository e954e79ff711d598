// Owns: for tests, the command line in this process, with what it wrote.
// Refuses: to stand for start-up itself; test/e2e/support/haft.ts runs the real program.
import { COMMANDS } from '../../bin/commands.ts';
import type { Io } from './command.ts';
import { runCli } from './run-cli.ts';

export interface CliAnswer {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

export async function runForTests(args: readonly string[], commands = COMMANDS): Promise<CliAnswer> {
  const out: string[] = [];
  const err: string[] = [];
  const io: Io = {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    errBytes() {},
    tty: false,
    errTty: false,
    columns: 80,
    readStdin: async () => new Uint8Array(),
    bytes() {},
    async *stdin() {},
    signal: new AbortController().signal,
  };
  const exit = await runCli(args, commands, io);
  return { exit, out: out.join(''), err: err.join('') };
}
