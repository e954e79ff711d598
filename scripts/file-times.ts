// Owns: how long each file of tests took, as a reporter of node:test: a line of milliseconds and path for each.
// Refuses: results; another reporter has them.
import type { TestEvent } from 'node:test/reporters';

export default async function* fileTimes(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events)
    if (type === 'test:summary' && data.file !== undefined)
      yield `${Math.round(data.duration_ms)} ${data.file}\n`;
}
