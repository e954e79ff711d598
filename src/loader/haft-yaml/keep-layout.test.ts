// Owns: the proof that an edit of haft.yaml leaves every line that it does not change, whatever the layout of the file.
// Not here: what an edit means; apply-admit.test.ts has that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { applyAdmit } from './apply-admit.ts';

const comment = fc.constantFrom('', ' # a', '   # b');
const own = fc.constantFrom('', '# c\n');
const blanks = fc.constantFrom('', '\n', '\n\n');
const indent = fc.constantFrom('', '  ', '    ');

const list = fc
  .tuple(
    own,
    comment,
    indent,
    fc.array(fc.tuple(fc.constantFrom("'^a'", '"^b"', '^c'), comment), { minLength: 1 }),
  )
  .map(
    ([above, behind, deep, items]) =>
      `${above}shell_allow:${behind}\n${items.map(([one, said]) => `${deep}- ${one}${said}\n`).join('')}`,
  );
const shell = fc.oneof(
  list,
  comment.map((said) => `shell_allow: [ '^x',   "^y" ]${said}\n`),
);
const rules = fc
  .tuple(indent, comment, comment)
  .map(
    ([deep, one, other]) => `paths:${one}\n  rules:\n  ${deep}- path: p${other}\n  ${deep}  write:   deny\n`,
  );
const paths = fc.oneof(rules, fc.constant(''), fc.constant('paths: {rules: [{path: q,write: deny}]}\n'));
const file = fc
  .tuple(own, comment, blanks, shell, blanks, paths, blanks, fc.boolean())
  .map(([above, said, one, first, two, second, three, isWindows]) => {
    const text = `${above}version:   1${said}\n${one}${first}${two}${second}${three}`;
    return isWindows ? text.replaceAll('\n', '\r\n') : text;
  });
const admit = fc.constantFrom(
  "shell_allow:\n  - '^new(\\s|$)'\n",
  'paths:\n  rules:\n    - path: z\n      read: allow\n',
  'network:\n  allowed_domains:\n    - a.org\n',
  "shell_allow:\n  - '^n'\npaths:\n  extra_roots:\n    - ../x\n",
);

describe('keepLayout', () => {
  it('leaves all lines of a block, and its line ends, where an edit adds others', () =>
    fc.assert(
      fc.asyncProperty(file, admit, async (text, grant) => {
        const after = await applyAdmit(text, grant);
        const lines = after.split('\n');
        // A list or map in brackets is one line, which an edit of it changes.
        const gone = text.split('\n').filter((line) => !lines.includes(line) && !/[[{]/.test(line));
        assert.deepEqual(gone, []);
        if (text.includes('\r\n')) assert.doesNotMatch(after, /[^\r]\n/);
      }),
      { numRuns: 200 },
    ));
});
