// Owns: that long work ends its turn in time, and takes more of the event loop only where others take much of it.
// Refuses: clocks; how long a turn may be is computed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTimeSlice, turnMs } from './time-slice.ts';

describe('turnMs', () => {
  it('is short where nobody else wants the event loop, however far behind', () => {
    assert.equal(turnMs(0, 50), 2);
    assert.equal(turnMs(4, 0.1), 2);
  });

  it('grows with how far behind it is and with how long others take, and ends', () => {
    assert.equal(turnMs(0.5, 10), 5);
    assert.equal(turnMs(1, 10), 10);
    assert.equal(turnMs(9, 1000), 12);
  });
});

describe('createTimeSlice', () => {
  it('goes on at once until its turn is over, and then lets others have theirs', async () => {
    const slice = createTimeSlice(0);
    let others = 0;
    setImmediate(() => {
      others++;
    });
    for (let pause = slice.pause(); ; pause = slice.pause()) {
      if (!pause) continue;
      assert.equal(others, 0);
      await pause;
      break;
    }
    assert.equal(others, 1);
    assert.equal(slice.haste, 1);
  });
});
