import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createProgress, renderProgress } from './progress.ts';

describe('renderProgress', () => {
  it('draws a bar where it is known how far the work is, and words where not', () => {
    assert.equal(
      renderProgress({ pct: 50, message: 'half' }),
      `${'█'.repeat(10)}${'░'.repeat(10)}  50% half`,
    );
    assert.equal(renderProgress({ pct: 900 }), `${'█'.repeat(20)} 100%`);
    assert.equal(renderProgress({ message: 'a\u001b[2Jb' }), 'a\\u001b[2Jb');
  });
});

describe('createProgress', () => {
  it('draws on one line, not too often, and leaves nothing behind', () => {
    let written = '';
    let now = 0;
    const io = {
      columns: 12,
      errBytes(bytes: Uint8Array) {
        written += Buffer.from(bytes);
      },
    };
    const line = createProgress(io, () => now);
    line.clear();
    assert.equal(written, '');
    line.show({ message: 'one' });
    line.show({ message: 'two' });
    now += 100;
    line.show({ message: 'three is too long' });
    line.clear();
    line.clear();
    assert.equal(written, '\r\u001b[Kone\r\u001b[Kthree is t…\r\u001b[K');
  });
});
