// Owns: the check that the commands which must start at once load no heavy library before they need it.
// Refuses: to measure; the benchmarks do.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';

const src = resolve(import.meta.dirname, '../src');

/** What `haft call file_read` and `haft mcp` load before they do anything. */
const HOT = ['bin/haft.ts', 'bin/main.ts', 'bin/mcp.ts', 'bin/mcp-front.ts'];

/** Builtins that every Node has loaded by then, or that cost less than a millisecond. */
const LIGHT = /^node:(buffer|events|fs|path|util|timers|timers\/promises|fs\/promises|stream|os|process)$/;

describe('the hot path', () => {
  it('imports no package and no heavy builtin', () => {
    const heavy = [...reached(HOT)].filter(([target]) => !target.startsWith('.') && !LIGHT.test(target));
    assert.deepEqual(
      heavy.map(([target, by]) => `${by} imports ${target}`),
      [],
    );
  });

  it('of the first list of tools over MCP loads no section of the policy', () => {
    const sections = [...reached(['bin/mcp-front.ts', 'bin/mcp.ts'])].filter(([target]) =>
      target.startsWith('./policy/sections/'),
    );
    assert.deepEqual(sections, []);
  });

  it('reaches the pipeline, so that this looks at what it means to', () => {
    assert.ok([...reached(HOT).keys()].some((target) => target.endsWith('runtime/pipeline.ts')));
  });
});

/** Everything that is imported when these files are loaded, and by which file. */
function reached(entries: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const seen = new Set<string>();
  const queue = [...entries];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    for (const target of staticImports(readFileSync(join(src, file), 'utf8'))) {
      if (!target.startsWith('.')) found.set(target, file);
      else {
        const next = relative(src, resolve(src, dirname(file), target));
        found.set(`./${next}`, file);
        queue.push(next);
      }
    }
  }
  return found;
}

/** `import type` is gone when the program runs, and `import()` waits until it is reached. */
function staticImports(source: string): string[] {
  const statements = source.matchAll(
    /^(?:import|export)\b(?! type\b)[^;'"]*?from '([^']+)'|^import '([^']+)'/gm,
  );
  return [...statements].map((match) => match[1] ?? match[2]!);
}
