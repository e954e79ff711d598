import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { createGzip } from 'node:zlib';
import { eventually } from '../../../test/support/eventually.ts';
import { fail } from '../../contract/errors.ts';
import type { HttpHead } from '../../contract/http.ts';
import { createHttpKit, textOf } from './servers-for-tests.ts';

const { server, request, closeAll } = createHttpKit();
afterEach(closeAll);

describe('onData', () => {
  it('has each piece while the answer is still under way, and keeps none of it', async () => {
    let go = () => {};
    const { origin } = await server((_, answer) => {
      answer.setHeader('content-type', 'text/event-stream').write('one');
      go = () => answer.end('two');
    });
    const seen: [string, HttpHead['status'], unknown][] = [];
    const running = request({
      url: origin,
      maxBytes: 1,
      onData: (chunk, { status, headers }) => seen.push([textOf(chunk), status, headers['content-type']]),
    });
    await eventually(() => seen.length === 1, 'the first piece');
    go();
    const answer = await running;
    assert.deepEqual(seen, [
      ['one', 200, 'text/event-stream'],
      ['two', 200, 'text/event-stream'],
    ]);
    assert.deepEqual([answer.body.length, answer.truncated], [0, false]);
  });

  it('reads no more while a promise that it answered has not settled', async () => {
    const { origin } = await server((_, answer) => answer.end('x'.repeat(4_000_000)));
    for (const headers of [{}, { 'accept-encoding': 'identity' }]) {
      let size = 0;
      let busy = 0;
      await request({
        url: origin,
        headers,
        async onData(chunk) {
          busy++;
          assert.equal(busy, 1);
          size += chunk.length;
          await (size % 2 === 0 ? new Promise(setImmediate) : undefined);
          busy--;
        },
      });
      assert.equal(size, 4_000_000);
    }
  });

  it('decodes what is encoded', async () => {
    const { origin } = await server((_, answer) => {
      answer.setHeader('content-encoding', 'gzip');
      createGzip()
        .on('error', () => {})
        .end('some text')
        .pipe(answer);
    });
    let text = '';
    await request({ url: origin, onData: (chunk) => (text += textOf(chunk)) });
    assert.equal(text, 'some text');
  });

  it('ends the request with what it throws', async () => {
    let ended = false;
    const { origin } = await server((got, answer) => {
      got.socket.on('close', () => (ended = true));
      answer.write('too much');
    });
    const onData = () => {
      throw fail('output.too_large', 'Cannot take more');
    };
    await assert.rejects(request({ url: origin, method: 'POST', onData }), { reason: 'output.too_large' });
    await eventually(() => ended, 'the end of the connection');
  });

  it('is not told of answers that lead on', async () => {
    const { origin } = await server((got, answer) => {
      if (got.url === '/') answer.writeHead(302, { location: '/there' }).end('go away');
      else answer.end('here');
    });
    const seen: string[] = [];
    await request({ url: origin, onData: (chunk) => seen.push(textOf(chunk)) });
    assert.deepEqual(seen, ['here']);
  });
});
