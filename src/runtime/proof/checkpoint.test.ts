import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createSigner,
  openCheckpoint,
  originOf,
  readPublicKey,
  signCheckpoint,
  writePublicKey,
} from './checkpoint.ts';
import { openEnvelope, writeEnvelope } from './statement.ts';

const signer = createSigner(Buffer.alloc(32, 1));
const other = createSigner(Buffer.alloc(32, 2));
const origin = originOf('ab'.repeat(32));
const CHECKPOINT = { origin, size: 42, root: Buffer.alloc(32, 7) };
const altered = { reason: 'bundle.altered' };

describe('createSigner', () => {
  it('derives one key from a host key, and another from another', () => {
    assert.equal(createSigner(Buffer.alloc(32, 1)).publicKey.id, signer.publicKey.id);
    assert.notEqual(other.publicKey.id, signer.publicKey.id);
    const signature = signer.sign(Buffer.from('x'));
    assert.ok(signer.publicKey.verify(Buffer.from('x'), signature));
    assert.ok(!other.publicKey.verify(Buffer.from('x'), signature));
    assert.ok(!signer.publicKey.verify(Buffer.from('x'), Buffer.alloc(3)));
  });
});

describe('signCheckpoint', () => {
  it('writes a note that the same key opens', () => {
    const note = signCheckpoint(CHECKPOINT, signer);
    assert.match(note, /^haft-audit\/(ab){16}\n42\n[A-Za-z0-9+/]{43}=\n\n— haft-audit\/(ab){16} \S+\n$/);
    assert.deepEqual(openCheckpoint(note, signer.publicKey), CHECKPOINT);
    assert.throws(() => openCheckpoint(note, other.publicKey), altered);
  });

  it('does not survive a change of any character', () => {
    const note = signCheckpoint(CHECKPOINT, signer);
    for (let at = 0; at < note.length; at++) {
      const changed = note.slice(0, at) + (note[at] === 'A' ? 'B' : 'A') + note.slice(at + 1);
      assert.throws(() => openCheckpoint(changed, signer.publicKey), altered, `character ${at}`);
    }
    for (const changed of ['', `${note}\n`, note.replace('42', '042')])
      assert.throws(() => openCheckpoint(changed, signer.publicKey), altered);
  });
});

describe('writePublicKey', () => {
  it('is read back, and refused when it was mistyped', () => {
    const line = writePublicKey(origin, signer.publicKey);
    assert.equal(readPublicKey(`${line}\n`).id, signer.publicKey.id);
    for (const wrong of ['', 'key', line.slice(1), line.slice(0, -1), line.replace(/.$/, '?')])
      assert.throws(() => readPublicKey(wrong), altered);
  });
});

describe('writeEnvelope', () => {
  it('hands its payload to who has the key, as long as it is as it was', () => {
    const text = writeEnvelope(Buffer.from('{"a":1}'), signer);
    assert.equal(Buffer.from(openEnvelope(text, signer.publicKey)).toString(), '{"a":1}');
    assert.throws(() => openEnvelope(text, other.publicKey), altered);
    for (let at = 0; at < text.length; at++) {
      const changed = text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
      assert.throws(() => openEnvelope(changed, signer.publicKey), altered, `character ${at}`);
    }
    assert.throws(() => openEnvelope(` ${text}`, signer.publicKey), altered);
  });
});
