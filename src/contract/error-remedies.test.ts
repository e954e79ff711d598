// Owns: that every reason says what to do in one plain sentence, and that no message says it twice.
// Not here: what each command prints; test/e2e/wrong-inputs.test.ts has it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explainError, REMEDIES, remedyOf } from './error-remedies.ts';
import { ERRORS, type ErrorEntry, fail, type Reason, toErrorEntry } from './errors.ts';

const entry = (reason: Reason, message: string, details?: ErrorEntry['details']): ErrorEntry =>
  toErrorEntry(fail(reason, message, details));

describe('REMEDIES', () => {
  it('has one short sentence for each reason of the table, and no other', () => {
    assert.deepEqual(Object.keys(REMEDIES).sort(), Object.keys(ERRORS).sort());
    for (const [reason, text] of Object.entries(REMEDIES)) {
      assert.match(text, /^[A-Z].{10,125}[^.]\.$/, reason);
      assert.doesNotMatch(text, /\. [A-Z]/, reason);
    }
  });
});

describe('remedyOf', () => {
  const OWN: readonly (readonly [Reason, string, ErrorEntry['details']?])[] = [
    ['tool.unknown', 'Cannot call "a": no such tool; did you mean "b"?'],
    ['run.unknown', 'Cannot find "a": there is none (see haft runs list)'],
    ['usage', 'Cannot run haft call: an argument is missing (usage: haft call TOOL; --help says more)'],
    ['usage', 'Cannot use --last ten: it takes a whole number'],
    ['policy.untrusted', 'Cannot use the policy. It would grant:\n  a\nTo trust it: run haft trust'],
    ['shell.not_allowed', 'Cannot run a: it matches no entry', { admit: 'shell_allow:\n' }],
    ['approval.pending', 'Cannot call "a" yet', { approval_id: 'appr_1' }],
    ['sandbox.unavailable', 'Cannot run', { hint: 'install it' }],
  ];
  for (const [reason, message, details] of OWN)
    it(`adds nothing to "${message.replaceAll('\n', ' ')}"`, () =>
      assert.equal(remedyOf(entry(reason, message, details)), undefined));

  it('is that of the table otherwise, also where a command holds a semicolon, and names the tool', () => {
    assert.equal(remedyOf(entry('path.not_found', 'Cannot read "a"')), REMEDIES['path.not_found']);
    assert.equal(
      remedyOf(entry('shell.not_allowed', 'Cannot run a; b: it matches no entry')),
      REMEDIES['shell.not_allowed'],
    );
    assert.match(remedyOf(entry('input.schema', 'Cannot call "a.b": no'))!, /"haft tools show a\.b"/);
  });
});

describe('explainError', () => {
  it('puts it on a line of its own', () =>
    assert.equal(
      explainError(entry('undo.unknown', 'Cannot undo "a": no')),
      'haft: Cannot undo "a": no [E_VALIDATION_FAIL undo.unknown]\n  Try: List what can be undone with "haft undo --list".\n',
    ));
});
