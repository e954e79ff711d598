// Owns: the process in which one subject is measured, so that no subject inherits another's heap or compiled code.
// Refuses: to print; its lines go to the process that started it.
import { compare, createScale } from './measure.ts';
import { SUBJECTS } from './subjects/index.ts';

await main(process.argv[2]!, process.argv.includes('--quick'));

async function main(name: string, quick: boolean): Promise<void> {
  const subject = SUBJECTS.find((candidate) => candidate.name === name);
  if (!subject || !process.send) throw new Error('Start the benchmarks with bench/run.ts');
  const scale = createScale(quick);
  // An interrupted run ends this process; the servers that it started see their input close.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  process.once('disconnect', () => process.exit(1));
  const state = await subject.open(scale);
  for (const comparison of subject.comparisons) {
    for (const line of await compare(subject.name, comparison, state, scale)) process.send(line);
  }
  await subject.close(state);
  process.removeAllListeners('disconnect');
  process.disconnect();
}
