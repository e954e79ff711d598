// Owns: a process that makes some calls, then one call between two marks, for a system-call trace.
// Refuses: anything else between the marks.
// usage: one-call.ts WORKSPACE TOOL ARGS [TOOL ARGS …]; the last pair is the one between the marks
import { writeSync } from 'node:fs';
import { createRuntime } from '../../../src/index.ts';

const [workspace = '.', ...rest] = process.argv.slice(2);
const calls = Array.from({ length: rest.length / 2 }, (_, i) => ({
  tool: rest[2 * i]!,
  args: JSON.parse(rest[2 * i + 1]!),
}));
const last = calls.pop()!;

const runtime = await createRuntime({ workspace });
let previous = '';
for (const call of calls) previous = (await runtime.call(call)).callId;
if (last.tool === 'undo') last.args.call_id = previous;
writeSync(1, 'MARK begin\n');
const response = await runtime.call(last);
writeSync(1, `MARK answer ${response.ok ? 'ok' : response.errors[0]?.message}\n`);
await runtime.close();
