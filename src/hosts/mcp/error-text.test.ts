// Owns: what a model reads of a failure.
// Refuses: which calls fail; policy and tools decide that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ErrorEntry } from '../../contract/errors.ts';
import { errorText } from './error-text.ts';

const entry = (given: Partial<ErrorEntry>): ErrorEntry => ({
  ...{ code: 'E_POLICY', reason: 'policy.denied', message: 'Cannot read a', retryable: false },
  ...given,
});

const CASES: readonly (readonly [title: string, error: Partial<ErrorEntry>, text: string])[] = [
  [
    'names the rule where the message does not, and the lines to ask the user for',
    { details: { rule: 'paths.rules[0]', line: 3, admit: 'paths:\n  rules: []\n' } },
    'E_POLICY policy.denied: Cannot read a\nRule: paths.rules[0] (haft.yaml line 3)\n' +
      'What to do: if the task needs it, ask the user to allow it in haft.yaml (add this, or change the entry that is there):\npaths:\n  rules: []',
  ],
  [
    'says the rule once',
    {
      message: 'Cannot read a: paths.rules[0] says deny',
      details: { rule: 'paths.rules[0]', admit: 'x: 1' },
    },
    'E_POLICY policy.denied: Cannot read a: paths.rules[0] says deny\n' +
      'What to do: if the task needs it, ask the user to allow it in haft.yaml (add this, or change the entry that is there):\nx: 1',
  ],
  [
    'says which approval to ask for',
    { reason: 'approval.pending', message: 'Cannot yet', details: { approval_id: 'appr_1', admit: 'x: 1' } },
    'E_POLICY approval.pending: Cannot yet\n' +
      'What to do: ask the user to run "haft approvals grant appr_1", then make the same call again.\n' +
      'To be asked no more, the user allows it in haft.yaml (add this, or change the entry that is there):\nx: 1',
  ],
  [
    'says where no line would do',
    { reason: 'path.protected', message: 'Cannot write haft.yaml', details: { rule: 'haft.yaml' } },
    'E_POLICY path.protected: Cannot write haft.yaml\nWhat to do: no tool may do this; it has to be done by hand.',
  ],
  [
    'shows what a program had printed',
    {
      code: 'E_TIMEOUT',
      reason: 'time.deadline',
      message: 'Too long',
      details: { stdout: 'a\n', stderr: '' },
    },
    'E_TIMEOUT time.deadline: Too long\nstdout so far:\na\n' +
      'What to do: ask for less work at once, or set a longer timeout.',
  ],
  [
    'says what to do where the message does not',
    { code: 'E_FILE_IO', reason: 'path.not_found', message: 'Cannot read "a": no such file or folder' },
    'E_FILE_IO path.not_found: Cannot read "a": no such file or folder\n' +
      'What to do: check the spelling; fs_list shows which files there are.',
  ],
  [
    'shows the hint of a failure',
    { code: 'E_FILE_IO', reason: 'path.not_found', message: 'Cannot', details: { hint: 'look elsewhere' } },
    'E_FILE_IO path.not_found: Cannot\nHint: look elsewhere',
  ],
  [
    'adds nothing to a failure that says it all',
    {
      code: 'E_VALIDATION_FAIL',
      reason: 'tool.unknown',
      message: 'Cannot call "a": no tool; did you mean "b"?',
    },
    'E_VALIDATION_FAIL tool.unknown: Cannot call "a": no tool; did you mean "b"?',
  ],
];

describe('errorText', () => {
  for (const [title, error, text] of CASES) it(title, () => assert.equal(errorText(entry(error)), text));
});
