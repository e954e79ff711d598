// Owns: what every object store must do, as cases that any object store can be run through.
// Refuses: where the bytes lie; the environment damages and removes them.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ByteSource, ObjectId, ObjectStore, ObjectUse } from '../contract/object-store.ts';
import { type ConformanceCase, type Environment, registerCases } from './conformance.ts';

export interface ObjectStoreEnvironment extends Environment {
  readonly objects: ObjectStore;
  /** Another object store over the same bytes, as a later process would have it. */
  reopen(): Promise<ObjectStore>;
  /** Changes one byte of a stored object behind the store's back, keeping its size. */
  damage(id: ObjectId): Promise<void>;
}

export type ObjectStoreCase = ConformanceCase<ObjectStoreEnvironment>;

/** Around the sizes at which stores change their ways. */
const SIZES = [0, 1, 1024, 16_384, 16_385, 1_048_576, 1_048_577, 3_000_000];

export const OBJECT_STORE_CASES: readonly ObjectStoreCase[] = [
  {
    name: 'objects.put names bytes as sha256sum does, and get answers them, at every size',
    async run({ objects, reopen }) {
      const later = await reopen();
      for (const size of SIZES) {
        const bytes = patterned(size);
        const id = await objects.put(bytes);
        assert.equal(id, nameOf(bytes), `${size} bytes`);
        for (const reader of [objects, later]) {
          assert.equal(Buffer.compare(await reader.get(id), bytes), 0, `${size} bytes`);
          assert.equal(await reader.size(id), size);
          assert.equal(await reader.verify(id), 'ok');
        }
      }
      assert.equal(
        await objects.put(Buffer.from('abc')),
        'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      );
    },
  },
  {
    name: 'objects.putStream stores what put would, however it is cut into chunks',
    async run({ objects }) {
      for (const [size, chunk] of [
        [0, 1],
        [10, 3],
        [16_385, 1000],
        [1_048_576, 1_048_576],
        [3_000_000, 70_001],
        [3_000_000, 2_500_000],
      ] as const) {
        const bytes = patterned(size);
        const stored = await objects.putStream(cut(bytes, chunk));
        assert.deepEqual(stored, { id: nameOf(bytes), size }, `${size} bytes in chunks of ${chunk}`);
        assert.equal(Buffer.compare(await objects.get(stored.id), bytes), 0);
      }
    },
  },
  {
    name: 'objects.putStream does not keep the chunks that it is given',
    async run({ objects }) {
      const reused = Buffer.alloc(100);
      const chunks = async function* () {
        for (let i = 0; i < 3; i++) yield reused.fill(i);
      };
      const { id } = await objects.putStream(chunks());
      assert.equal(
        id,
        nameOf(Buffer.concat([Buffer.alloc(100, 0), Buffer.alloc(100, 1), Buffer.alloc(100, 2)])),
      );
    },
  },
  {
    name: 'objects.putStream passes on the failure of its source and stores nothing',
    async run({ objects }) {
      const bytes = patterned(2_500_000);
      const broken = async function* () {
        yield* cut(bytes, 1_100_000);
        throw new Error('the source broke off');
      };
      await assert.rejects(objects.putStream(broken()), /the source broke off/);
      assert.equal(await objects.size(nameOf(bytes)), undefined);
    },
  },
  {
    name: 'objects.put of the same bytes by many at once stores them once and answers all',
    async run({ objects, reopen }) {
      const later = await reopen();
      for (const bytes of [patterned(500), patterned(100_000)]) {
        const ids = await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            i % 3 === 0 ? later.put(bytes) : i % 3 === 1 ? objects.put(bytes) : putCut(objects, bytes),
          ),
        );
        assert.deepEqual(new Set(ids), new Set([nameOf(bytes)]));
        assert.equal(await objects.verify(nameOf(bytes)), 'ok');
      }
    },
  },
  {
    name: 'an object that is absent is missing, and so is what is no name at all',
    async run({ objects }) {
      const absent = nameOf(Buffer.from('nobody stored this'));
      await assert.rejects(objects.get(absent), { reason: 'object.missing' });
      await assert.rejects(objects.getRange(absent, 0, 1), { reason: 'object.missing' });
      assert.equal(await objects.size(absent), undefined);
      assert.equal(await objects.verify(absent), 'missing');
      for (const name of ['sha256:../../../etc/passwd', 'md5:00', `sha256:${'A'.repeat(64)}`, ''])
        await assert.rejects(objects.get(name as ObjectId), { reason: 'object.missing' });
    },
  },
  {
    name: 'an object that was damaged is never handed out, and storing its bytes again mends it',
    async run({ objects, damage }) {
      for (const size of [700, 200_000]) {
        const bytes = patterned(size);
        const id = await objects.put(bytes);
        await damage(id);
        assert.equal(await objects.verify(id), 'corrupt');
        await assert.rejects(objects.get(id), { reason: 'object.corrupt' });
        await objects.put(bytes);
        assert.equal(await objects.verify(id), 'ok');
        await damage(id);
        await objects.putStream(cut(bytes, 1000));
        assert.equal(Buffer.compare(await objects.get(id), bytes), 0);
      }
    },
  },
  {
    name: 'objects.getRange answers a part, and stops at the end',
    async run({ objects }) {
      for (const size of [1000, 100_000]) {
        const bytes = patterned(size);
        const id = await objects.put(bytes);
        for (const [start, end] of [
          [0, 10],
          [990, 2_000_000],
          [500, 500],
          [size, size + 5],
          [size + 5, size + 9],
        ] as const) {
          const part = await objects.getRange(id, start, end);
          assert.equal(Buffer.compare(part, bytes.subarray(start, end)), 0, `${start} to ${end} of ${size}`);
        }
        await assert.rejects(objects.getRange(id, 5, 4), { reason: 'input.range' });
        await assert.rejects(objects.getRange(id, -1, 4), { reason: 'input.range' });
      }
    },
  },
  {
    name: 'objects.getRange hands out no part of an object that was damaged',
    async run({ objects, damage }) {
      for (const size of [700, 200_000]) {
        const id = await objects.put(patterned(size));
        await damage(id);
        await assert.rejects(objects.getRange(id, 0, 10), { reason: 'object.corrupt' });
      }
    },
  },
  {
    name: 'objects.putFile stores what put would, whatever the source hands over at a time',
    async run({ objects }) {
      for (const [size, most] of [
        [0, 10],
        [700, 300],
        [1_048_576, 1_048_576],
        [9_000_001, 5_000_000],
        [5_000_000, 70_001],
      ] as const) {
        const bytes = patterned(size);
        const stored = await objects.putFile(sourceOf(bytes, most));
        assert.deepEqual(stored, { id: nameOf(bytes), size }, `${size} bytes, ${most} at a time`);
        assert.equal(Buffer.compare(await objects.get(stored.id), bytes), 0);
      }
    },
  },
  {
    name: 'objects.putFile passes on the failure of its source or of its signal, and stores nothing',
    async run({ objects }) {
      const bytes = patterned(9_000_000);
      const source = sourceOf(bytes, 1_000_000);
      const broken: ByteSource = {
        read: (into, at) => (at > 6_000_000 ? Promise.reject(new Error('gone')) : source.read(into, at)),
      };
      await assert.rejects(objects.putFile(broken), /gone/);
      await assert.rejects(objects.putFile(source, AbortSignal.abort(new Error('enough'))), /enough/);
      assert.equal(await objects.size(nameOf(bytes)), undefined);
    },
  },
  {
    name: 'objects.copyTo writes a verified copy where nothing was, and nothing else',
    async run({ objects, damage }) {
      const folder = await mkdtemp(join(tmpdir(), 'haft-copy-'));
      try {
        for (const size of [700, 3_000_000]) {
          const bytes = patterned(size);
          const id = await objects.put(bytes);
          const place = join(folder, `copy-${size}`);
          await objects.copyTo(id, place, 0o555);
          assert.equal(Buffer.compare(await readFile(place), bytes), 0);
          assert.equal((await stat(place)).mode & 0o777, 0o555);
          await assert.rejects(objects.copyTo(id, place, 0o444), { reason: 'path.exists' });
          await damage(id);
          await assert.rejects(objects.copyTo(id, `${place}-damaged`, 0o444), { reason: 'object.corrupt' });
        }
        const absent = nameOf(Buffer.from('nobody stored this'));
        await assert.rejects(objects.copyTo(absent, join(folder, 'absent'), 0o444), {
          reason: 'object.missing',
        });
        assert.deepEqual((await readdir(folder)).sort(), ['copy-3000000', 'copy-700']);
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  },
  {
    name: 'objects.list names every object with its size and last use, once',
    async run({ objects }) {
      const since = Date.now() - 2000;
      const sizes = [0, 700, 50_000, 1_500_000];
      for (const size of sizes) await objects.put(patterned(size));
      const listed: ObjectUse[] = [];
      for await (const one of objects.list()) listed.push(one);
      listed.sort((a, b) => a.size - b.size);
      assert.deepEqual(
        listed.map(({ id, size }) => ({ id, size })),
        sizes.map((size) => ({ id: nameOf(patterned(size)), size })),
      );
      for (const { usedTs } of listed) assert.ok(usedTs >= since);
    },
  },
  {
    name: 'objects.discard removes what nobody used since, and says which',
    async run({ objects, reopen }) {
      const later = await reopen();
      const future = Date.now() + 1_000_000;
      for (const size of [700, 50_000]) {
        const bytes = patterned(size);
        const id = await objects.put(bytes);
        const absent = nameOf(patterned(size + 1));
        assert.deepEqual(await objects.discard([id, absent], Date.now() - 500_000), []);
        await later.touch([id, absent]);
        assert.equal(await objects.verify(id), 'ok');
        assert.deepEqual(await objects.discard([id, absent], future), [id]);
        assert.equal(await later.size(id), undefined);
        await later.put(bytes);
        assert.equal(await objects.verify(id), 'ok', 'stored again');
      }
    },
  },
];

export function objectStoreSuite(name: string, open: () => Promise<ObjectStoreEnvironment>): void {
  registerCases(`${name} conforms to ObjectStore`, OBJECT_STORE_CASES, open);
}

function patterned(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let i = 0; i < size; i++) bytes[i] = (i * 31 + (i >> 8) + size) & 0xff;
  return bytes;
}

function nameOf(bytes: Uint8Array): ObjectId {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Hands over at most so many bytes at a time. */
function sourceOf(bytes: Uint8Array, most: number): ByteSource {
  return {
    async read(into, position) {
      const part = bytes.subarray(position, position + Math.min(most, into.length));
      into.set(part);
      return part.length;
    },
  };
}

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function putCut(objects: ObjectStore, bytes: Uint8Array): Promise<ObjectId> {
  return (await objects.putStream(cut(bytes, 7000))).id;
}
