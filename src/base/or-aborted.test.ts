import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { orAborted } from './or-aborted.ts';

const never = new Promise<never>(() => {});

test('orAborted settles as the promise does, and leaves no listener', async () => {
  const { signal } = new AbortController();
  assert.equal(await orAborted(Promise.resolve(1), signal), 1);
  await assert.rejects(orAborted(Promise.reject(new Error('own')), signal), /own/);
  await new Promise(setImmediate);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('orAborted rejects with the reason of the signal, also where it aborted before', async () => {
  const controller = new AbortController();
  const waiting = orAborted(never, controller.signal);
  controller.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  await assert.rejects(orAborted(never, controller.signal), /enough/);
});
