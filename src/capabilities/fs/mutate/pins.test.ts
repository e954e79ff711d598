import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { isFailure } from '../../../contract/errors.ts';
import { makeRoots, type Root } from '../root.ts';
import { createPins } from './pins.ts';

describe('createPins', () => {
  let base: string;
  let root: Root;

  beforeEach(() => {
    base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-pins-')));
    fs.mkdirSync(path.join(base, 'ws/d/e'), { recursive: true });
    fs.writeFileSync(path.join(base, 'ws/f'), '');
    root = makeRoots(path.join(base, 'ws'));
  });
  afterEach(() => fs.rmSync(base, { recursive: true }));

  const isOpen = (fd: number) => fs.existsSync(`/proc/self/fd/${fd}`);

  it('shares a descriptor between those who work in the same folder, until the last one gives it back', () => {
    const pins = createPins();
    const place = { root, rel: 'd/e' };
    const first = pins.take(place, 'write')!;
    const second = pins.take(place, 'write')!;
    assert.equal(second.fd, first.fd);
    assert.equal(second.stat.ino, fs.statSync(path.join(base, 'ws/d/e'), { bigint: true }).ino);
    pins.give(first);
    assert.ok(isOpen(second.fd));
    pins.give(second);
    assert.ok(!isOpen(second.fd));
  });

  it('tells what the folder is now, not what it was to the first who took it', () => {
    const pins = createPins();
    const first = pins.take({ root, rel: 'd' }, 'write')!;
    fs.chmodSync(path.join(base, 'ws/d'), 0o700);
    const second = pins.take({ root, rel: 'd' }, 'write')!;
    assert.notEqual(first.stat.mode, second.stat.mode);
    pins.give(first);
    pins.give(second);
  });

  it('does not share a folder that was moved, removed or replaced meanwhile', () => {
    const pins = createPins();
    const place = { root, rel: 'd/e' };
    const old = pins.take(place, 'write')!;
    fs.renameSync(path.join(base, 'ws/d/e'), path.join(base, 'gone'));
    assert.equal(pins.take(place, 'write'), undefined);
    fs.mkdirSync(path.join(base, 'ws/d/e'));
    const next = pins.take(place, 'write')!;
    assert.notEqual(next.fd, old.fd);
    assert.equal(next.stat.ino, fs.statSync(path.join(base, 'ws/d/e'), { bigint: true }).ino);
    // The one that is gone is given back without touching the one that took its place.
    pins.give(old);
    assert.ok(!isOpen(old.fd));
    assert.equal(pins.take(place, 'write')!.fd, next.fd);
    pins.give(next);
    pins.give(next);
    assert.ok(!isOpen(next.fd));
  });

  it('refuses a link where the folder was, although others have it open', () => {
    const pins = createPins();
    const old = pins.take({ root, rel: 'd' }, 'write')!;
    fs.renameSync(path.join(base, 'ws/d'), path.join(base, 'ws/moved'));
    fs.symlinkSync('moved', path.join(base, 'ws/d'));
    assert.throws(
      () => pins.take({ root, rel: 'd/e' }, 'write'),
      (thrown) => isFailure(thrown) && thrown.reason === 'path.raced',
    );
    assert.equal(pins.take({ root, rel: 'd' }, 'write'), undefined);
    pins.give(old);
  });

  it('answers nothing for files and for what is not there, and leaves nothing open', () => {
    const pins = createPins();
    const before = fs.readdirSync('/proc/self/fd').length;
    assert.equal(pins.take({ root, rel: 'f' }, 'write'), undefined);
    assert.equal(pins.take({ root, rel: 'f/x' }, 'write'), undefined);
    assert.equal(pins.take({ root, rel: 'no/such' }, 'write'), undefined);
    assert.equal(fs.readdirSync('/proc/self/fd').length, before);
  });
});
