import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { ObjectId, ObjectStore } from '../contract/object-store.ts';
import { openObjectsEnvironment } from '../stores/objects/environment-for-tests.ts';
import { failingCases } from './conformance.ts';
import { OBJECT_STORE_CASES } from './object-store-suite.ts';

/** Ways to get an object store wrong, and a case that must notice. */
const BROKEN: readonly {
  readonly fault: string;
  readonly caseName: RegExp;
  spoil(objects: ObjectStore): Partial<ObjectStore>;
}[] = [
  {
    fault: 'does not verify what it hands out',
    caseName: /damaged is never handed out/,
    spoil: (objects) => ({ get: (id) => objects.get(id).catch(() => new Uint8Array()) }),
  },
  {
    fault: 'says that everything is well',
    caseName: /damaged is never handed out/,
    spoil: () => ({ verify: async () => 'ok' }),
  },
  {
    fault: 'does not mend what it has',
    caseName: /damaged is never handed out/,
    spoil: (objects) => {
      const known = new Map<number, ObjectId>();
      return {
        async put(bytes) {
          const id = known.get(bytes.length) ?? (await objects.put(bytes));
          known.set(bytes.length, id);
          return id;
        },
      };
    },
  },
  {
    fault: 'forgets what it was given',
    caseName: /at every size/,
    spoil: () => ({ size: async () => undefined }),
  },
  {
    fault: 'keeps the first chunk only',
    caseName: /however it is cut into chunks/,
    spoil: (objects) => ({
      async putStream(chunks) {
        for await (const chunk of chunks) return { id: await objects.put(chunk), size: chunk.length };
        return { id: await objects.put(new Uint8Array()), size: 0 };
      },
    }),
  },
  {
    fault: 'keeps the chunks themselves',
    caseName: /does not keep the chunks/,
    spoil: (objects) => ({
      async putStream(chunks) {
        const kept: Uint8Array[] = [];
        for await (const chunk of chunks) kept.push(chunk);
        const whole = Buffer.concat(kept);
        return { id: await objects.put(whole), size: whole.length };
      },
    }),
  },
  {
    fault: 'answers nothing for what is absent',
    caseName: /absent is missing/,
    spoil: () => ({ get: async () => new Uint8Array() }),
  },
  {
    fault: 'takes the end of a range as its length',
    caseName: /stops at the end/,
    spoil: (objects) => ({ getRange: (id, start, end) => objects.getRange(id, start, start + end) }),
  },
  {
    fault: 'reads a file up to the first short read',
    caseName: /putFile stores/,
    spoil: (objects) => ({
      async putFile(source) {
        const piece = Buffer.alloc(1024 * 1024);
        const whole = piece.subarray(0, await source.read(piece, 0));
        return { id: await objects.put(whole), size: whole.length };
      },
    }),
  },
  {
    fault: 'copies what it did not verify',
    caseName: /copyTo writes/,
    spoil: () => ({ copyTo: async (_id, path) => void (await writeFile(path, 'x')) }),
  },
  {
    fault: 'discards what was used since',
    caseName: /discard removes/,
    spoil: (objects) => ({ discard: (ids) => objects.discard(ids, Number.MAX_SAFE_INTEGER) }),
  },
  {
    fault: 'does not list what is small',
    caseName: /list names/,
    spoil: (objects) => ({
      async *list() {
        for await (const one of objects.list()) if (one.size > 1000) yield one;
      },
    }),
  },
];

describe('objectStoreSuite notices an object store that', () => {
  for (const { fault, caseName, spoil } of BROKEN) {
    it(fault, async () => {
      const cases = OBJECT_STORE_CASES.filter((one) => caseName.test(one.name));
      assert.equal(cases.length, 1);
      const open = async () => {
        const env = await openObjectsEnvironment();
        return { ...env, objects: { ...env.objects, ...spoil(env.objects) } };
      };
      assert.deepEqual(
        await failingCases(cases, open),
        cases.map((one) => one.name),
      );
    });
  }
});
