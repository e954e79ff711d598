import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { makeUnifiedDiff } from '../src/base/unified-diff/make-diff.ts';
import { type Diff, PERTURBATIONS, patched } from './patch-perturbations.ts';

/** Text like source code: functions that resemble each other, lines that stand everywhere. */
function version(file: number, edits: readonly number[]): string {
  const functions = Array.from({ length: 3 + (file % 9) }, (_, i) => {
    const name = `step${i % 5}`;
    const body = ['  const value = read(input);', `  if (!value) return ${i % 3};`, '', '  return value;'];
    if (edits.includes(i)) body.splice(i % 4, i % 2, `  log('${name}', ${i});`, '  check(value);');
    if (edits.includes(i + 100)) body.splice(1, 2);
    return [`function ${name}${i > 6 ? '' : i}(input) {`, ...body, '}', ''].join('\n');
  });
  const end = file % 6 === 0 ? `export { step0 }; // ${edits.length}` : 'export { step0 };\n';
  return `// Made for file ${file % 4}.\n\n${functions.join('\n')}\n${end}`;
}

const hash = (text: string) => createHash('sha1').update(`blob ${text.length}\0${text}`).digest('hex');
let diffs: Diff[];

before(async () => {
  diffs = await Promise.all(
    Array.from({ length: 48 }, async (_, file) => {
      const [old, fresh] = [version(file, []), version(file, [file % 3, (file % 5) + 2, 100 + (file % 4)])];
      const diff = async (context: number) => {
        const text = await makeUnifiedDiff('x', 'x', old, fresh, { context });
        return text.replace(
          '\n---',
          `\nindex ${hash(old).slice(0, 9)}..${hash(fresh).slice(0, 9)} 100644\n---`,
        );
      };
      return { name: 'x', old, fresh, patch: await diff(3), bare: await diff(0) };
    }),
  );
});

describe('a diff that was spoilt is applied right or refused', () => {
  for (const { name, apart, make } of PERTURBATIONS) {
    if (apart) continue;
    it(name, () => {
      for (const [i, diff] of diffs.entries()) {
        for (const tried of make(diff, i, diffs)) {
          const result = patched(tried);
          const right = typeof result !== 'string' || tried.boundary || tried.right.includes(result);
          assert.ok(right, `${JSON.stringify(tried, null, 1)}\nbecame\n${JSON.stringify(result)}`);
        }
      }
    });
  }

  it('and applied when nothing was spoilt', () => {
    for (const name of ['nothing', 'nothing, no index line', 'an LF diff on a CRLF file', 'no context']) {
      const { make } = PERTURBATIONS.find((one) => one.name === name)!;
      const results = diffs
        .flatMap((diff, i) => make(diff, i, diffs))
        .map((tried) => [tried.right[0], patched(tried)]);
      for (const [right, result] of results) assert.equal(result, right);
    }
  });
});
