import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRedactor } from '../base/redact/create-redactor.ts';
import { fail, isFailure } from '../contract/errors.ts';
import { createAnswerSpill } from './spills.ts';

const SECRET = 'correct-horse-battery';

function bench(options: { readonly redacts?: boolean; readonly breaks?: boolean } = {}) {
  const kept: Uint8Array[] = [];
  let ended = false;
  const spills = {
    async putStream(chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        if (options.breaks) throw fail('store.unwritable', 'Cannot store: the disk is full');
        kept.push(Buffer.from(chunk));
      }
      ended = true;
      const size = Buffer.concat(kept).length;
      return { id: 'sha256:x' as const, size };
    },
  };
  const redactor = options.redacts ? createRedactor({ secrets: [SECRET], guess: false }) : undefined;
  const spill = createAnswerSpill({ tool: 'p.x', spills, redactor, maxBytes: 100 });
  return { spill, text: () => Buffer.concat(kept).toString(), ended: () => ended };
}

describe('createAnswerSpill', () => {
  it('keeps all pieces in order, and fails the call with where they are', async () => {
    const { spill, text } = bench();
    const piece = Buffer.from('one ');
    await spill.write(piece);
    piece.fill('x');
    await spill.write(Buffer.from('two'));
    const { reason, details, message } = await spill.fail(3);
    assert.deepEqual(
      [reason, details, text()],
      ['output.too_large', { bytes: 7, limit: 3, artifact: 'sha256:x' }, 'one two'],
    );
    assert.match(message, /"p\.x" inline: it is 7 bytes, over the limit of 3; .* kept as sha256:x/);
  });

  it('takes secrets out, also where two pieces meet', async () => {
    const { spill, text } = bench({ redacts: true });
    for (const piece of ['say correct-ho', 'rse-battery ', 'now']) await spill.write(Buffer.from(piece));
    await spill.fail(3);
    assert.ok(!text().includes(SECRET) && text().startsWith('say ') && text().endsWith(' now'), text());
  });

  it('keeps no more than it may, and nothing of what is not wanted any more', async () => {
    const { spill, ended } = bench();
    await spill.write(Buffer.alloc(90));
    assert.throws(() => spill.write(Buffer.alloc(11)), { reason: 'output.too_large' });
    await spill.discard();
    assert.equal(ended(), false);
  });

  it('tells whoever writes that it cannot be kept', async () => {
    const { spill } = bench({ breaks: true });
    await assert.rejects(spill.write(Buffer.from('x')), (thrown) => isFailure(thrown));
    await assert.rejects(spill.fail(3), /disk is full/);
  });
});
