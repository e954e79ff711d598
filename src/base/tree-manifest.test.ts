import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { digest, sha256Hex } from './digest.ts';
import { decodeTree, encodeTree, looksLikeTree, type TreeEntry } from './tree-manifest.ts';

const SHA = 'ab'.repeat(32);
const file = (path: string, more: object = {}): TreeEntry => ({
  type: 'file',
  path,
  size: 3,
  sha256: SHA,
  executable: false,
  ...more,
});
const dir = (path: string): TreeEntry => ({ type: 'dir', path });

const name = fc
  .stringMatching(/^[a-zA-Z0-9_.é\u{10000}-]{1,8}$/u)
  .filter((one) => one !== '.' && one !== '..');
const trees = fc
  .uniqueArray(fc.array(name, { minLength: 1, maxLength: 3 }), { selector: (path) => path.join('/') })
  .map((paths) => {
    const folders = new Set(
      paths.flatMap((path) => path.map((_, at) => path.slice(0, at).join('/')).slice(1)),
    );
    const files = paths.map((path) => path.join('/')).filter((path) => !folders.has(path));
    return [...[...folders].map(dir), ...files.map((path) => file(path))];
  });

describe('tree-manifest', () => {
  it('stands for a tree whatever the order in which its entries come, and gives it back', () => {
    fc.assert(
      fc.property(trees, fc.infiniteStream(fc.nat()), (entries, order) => {
        const bytes = encodeTree(entries);
        const shuffled = entries
          .map((entry) => [order.next().value as number, entry] as const)
          .sort(([a], [b]) => a - b)
          .map(([, entry]) => entry);
        assert.deepEqual(encodeTree(shuffled), bytes);
        const decoded = decodeTree(bytes);
        assert.deepEqual(new Set(decoded.map((one) => one.path)), new Set(entries.map((one) => one.path)));
        assert.deepEqual(encodeTree(decoded), bytes);
      }),
      { numRuns: 100 },
    );
  });

  it('has the tree/v1 digest as its plain sha256, so that a store of objects can name it', () => {
    const bytes = encodeTree([dir('a'), file('a/x')]);
    const body = `{"entries":[{"path":"a","type":"dir"},{"executable":false,"path":"a/x","sha256":"${SHA}","size":3,"type":"file"}]}`;
    assert.equal(sha256Hex(bytes), digest('tree/v1', body));
    assert.ok(looksLikeTree(bytes) && !looksLikeTree(Buffer.from(body)));
  });

  it('refuses what encodeTree does not write', () => {
    const written = Buffer.from(encodeTree([dir('a'), file('a/x')])).toString();
    const refused = [
      '',
      'haft1 7 tree/v1 2 {}',
      written.replace('"dir"', '"link"'),
      written.replace('a/x', 'b/x'),
      written.replace('a/x', '../x'),
      written.replace('false', '0'),
      `${written} `,
      Buffer.from(encodeTree([file('x'), file('x')])).toString(),
      Buffer.from(encodeTree([file('x', { mtime: 1 })])).toString(),
      Buffer.from(encodeTree([file('x', { size: -1 })])).toString(),
      Buffer.from(encodeTree([file('x'), file('x/y')])).toString(),
    ];
    for (const text of refused)
      assert.throws(() => decodeTree(Buffer.from(text)), { reason: 'input.not_canonical' }, text);
  });
});
