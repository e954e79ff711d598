import { installationOf } from '../../contract/tools-for-tests.ts';
import { adapterSuite } from '../../testing/adapter-suite.ts';
import { createInprocessAdapter, type InprocessFunction } from './inprocess.ts';

const FIXTURES: Readonly<Record<string, InprocessFunction>> = {
  echo: ({ args }) => ({ ok: true, data: args }),
  big: () => ({ ok: true, data: { text: 'x'.repeat(256 * 1024) } }),
  fail: () => ({ ok: false, message: 'failed as asked' }),
  wait: async ({ signal, progress }) => {
    progress({ pct: 50 });
    await new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    );
    return { ok: true, data: null };
  },
};

adapterSuite('inprocess', async () => {
  const connection = await createInprocessAdapter(FIXTURES).open(installationOf('fixture', {}), []);
  return {
    connection,
    tools: { echo: 'echo', fail: 'fail', wait: 'wait', big: 'big' },
    close: () => connection.close(),
  };
});
