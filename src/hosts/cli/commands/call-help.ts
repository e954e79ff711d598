// Owns: what `haft call` says of itself.
// Refuses: to be loaded by a call: that has to start at once.
import type { Command } from '../command.ts';
import { command as call } from './call.ts';

export const command: Command = {
  ...call,
  description:
    'Arguments are written as key=value: typed by the schema of the tool, a list by naming it again, key=@file for the content of a file, key:=JSON for any value, key.field=value for a field. ' +
    'Or as a JSON object, a file that holds one (@args.json), or standard input (-). ' +
    'On a terminal it prints the answer as people read it; with --json, and in a pipe, the ToolResponse. ' +
    'shell_exec exits with the exit code of its program: 124 where a time limit ended it, 125 where Haft did not run it.',
  options: {
    session: { type: 'string', value: 'ID', help: 'make the call in this session, opening it if need be' },
    'request-id': { type: 'string', value: 'ID', help: 'the request_id to send' },
    backend: { type: 'string', value: 'NAME', help: 'where a run is executed, among what policy grants' },
    place: {
      type: 'string',
      value: 'KEY=VALUE,…',
      help: 'partition, account, qos or gres of its Slurm job, among what policy lists',
    },
  },
  examples: [
    'haft call file_read path=README.md',
    `haft call shell_exec cmd='npm test' timeout_ms=60000`,
    `haft call file_read '{"path":"README.md"}' --json`,
    'haft call file_write @args.json',
  ],
};
