// Owns: for tests, diffs between two versions of texts that look like source code.
// Refuses: the network; node bench/patches.ts takes published packages.
import { createHash } from 'node:crypto';
import { makeUnifiedDiff } from '../src/base/unified-diff/make-diff.ts';
import type { Diff } from './patch-perturbations.ts';

export function corpusForTests(): Promise<Diff[]> {
  return Promise.all(
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
}

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
