import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endOfTrouble, patiently } from './container.ts';

const refusal = (message: string) => Object.assign(new Error(message), { status: 500 });
const away = (sent: boolean) => Object.assign(new Error('connect'), { sent });
const patience = (ms: number) => ({ ms, closing: new AbortController().signal });

describe('endOfTrouble', () => {
  it('tells what kind of trouble it was, without paths of this machine', () => {
    const messages: Readonly<Record<string, string>> = {
      'No such image: haft/x@sha256:0': 'infrastructure.image',
      'mkdir /var/lib/docker/overlay2/1: no space left on device': 'infrastructure.disk_full',
      'invalid mount config: bind source path does not exist: /home/me/.haft/runs/1/in':
        'infrastructure.engine',
      'ENOSPC: no space left on device, write': 'infrastructure.disk_full',
    };
    for (const [message, cause] of Object.entries(messages)) {
      const end = endOfTrouble(refusal(message), false);
      assert.equal(end.cause, cause);
      assert.doesNotMatch(end.message, /\/(var|home)/);
    }
    assert.match(endOfTrouble(refusal('cannot run /work/out/x'), false).message, /\/work\/out\/x/);
  });
  it('calls an attempt lost that the engine may have heard of', () => {
    assert.equal(endOfTrouble(away(false), false).cause, 'infrastructure.engine');
    assert.equal(endOfTrouble(away(true), false).cause, 'lost');
    assert.equal(endOfTrouble(away(false), true).status, 'lost');
  });
});

describe('patiently', () => {
  it('repeats what the engine could not be reached for, and nothing else', async () => {
    let tries = 0;
    const answer = await patiently(async () => {
      if (tries++ < 2) throw away(true);
      return 'back';
    }, patience(5000));
    assert.deepEqual([answer, tries], ['back', 3]);
    await assert.rejects(
      patiently(async () => Promise.reject(refusal('no')), patience(5000)),
      /no/,
    );
  });
  it('gives up, and remembers whether the engine may have heard', async () => {
    let tries = 0;
    await assert.rejects(
      patiently(async () => Promise.reject(away(tries++ === 0)), patience(120)),
      { sent: true },
    );
    assert.ok(tries > 1);
  });
  it('gives up at once when the backend closes', async () => {
    const closing = new AbortController();
    const waiting = patiently(async () => Promise.reject(away(true)), {
      ms: 60_000,
      closing: closing.signal,
    });
    closing.abort();
    await assert.rejects(waiting, { sent: true });
  });
});
