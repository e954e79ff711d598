import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { closestArgument } from './closest-argument.ts';

describe('closestArgument', () => {
  const SHELL = ['cmd', 'cwd', 'timeout_ms', 'env', 'stdin', 'allow_network'];
  const GREP = ['pattern', 'glob', 'case_sensitive', 'max_results'];
  const CASES: readonly (readonly [word: string, known: readonly string[], meant: string | undefined])[] = [
    ['command', SHELL, 'cmd'],
    ['script', SHELL, 'cmd'],
    ['timeout', SHELL, 'timeout_ms'],
    ['environment', SHELL, 'env'],
    ['workdir', SHELL, 'cwd'],
    ['query', GREP, 'pattern'],
    ['regex', GREP, 'pattern'],
    ['limit', GREP, 'max_results'],
    ['max-results', GREP, 'max_results'],
    ['pth', ['path', 'content'], 'path'],
    ['file_path', ['path', 'content'], 'path'],
    ['text', ['path', 'content'], 'content'],
    ['source', ['src', 'dst'], 'src'],
    ['to', ['src', 'dst'], 'dst'],
    ['colour', SHELL, undefined],
    ['', SHELL, undefined],
    ['cmd', [], undefined],
  ];
  for (const [word, known, meant] of CASES)
    it(`takes "${word}" among ${known.join(', ')} for ${meant}`, () =>
      assert.equal(closestArgument(word, known), meant));
});
