import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { canonicalText } from '../base/canonical-json.ts';
import type { AuditEntry } from '../contract/store.ts';
import {
  AUDIT_COLUMNS,
  decodeRow,
  encodeEntry,
  GENESIS,
  HASH,
  hashRow,
  misfit,
  PREV,
  rowBody,
  SEQ,
  type StoredRow,
} from './audit-row.ts';

const NAMES = Object.keys(AUDIT_COLUMNS);
const word = fc.string({ unit: 'grapheme' });
const count = fc.maxSafeNat();

const entries: fc.Arbitrary<AuditEntry> = fc.record({
  phase: fc.constantFrom('intent', 'outcome'),
  callId: word,
  requestId: word,
  tool: word,
  contract: word,
  argsHash: word,
  startTs: count,
  endTs: fc.option(count),
  session: word,
  attribution: fc.option(fc.dictionary(word, word)),
  decision: fc.record({ verdict: fc.constantFrom('allow', 'ask', 'deny'), rule: word }),
  effects: fc.array(fc.record({ kind: fc.constant('fs.read'), path: word })),
  outcome: fc.constantFrom('ok', 'failed', 'lost'),
  errors: fc.array(fc.constant({ code: 'E_POLICY', reason: 'policy.denied' } as const)),
  policyHash: word,
  runId: fc.option(word),
  changes: fc.constant([]),
  bytes: count,
  facts: fc.option(fc.dictionary(word, word)),
  process: word,
});

function chained(entry: AuditEntry): StoredRow {
  const row = encodeEntry(entry);
  row[SEQ] = 1;
  row[PREV] = GENESIS;
  row[HASH] = hashRow(row);
  return row;
}

describe('an audit row', () => {
  it('reads back as the entry that it was made from', () => {
    fc.assert(
      fc.property(entries, (entry) => {
        const { seq, prev, hash, ...fields } = decodeRow(chained(entry));
        assert.equal(canonicalText(fields), canonicalText(entry));
        assert.deepEqual([seq, prev, hash.length], [1, GENESIS, 64]);
      }),
    );
  });

  it('is hashed over the canonical JSON of its columns as they are stored', () => {
    fc.assert(
      fc.property(entries, (entry) => {
        const row = chained(entry);
        const columns = Object.fromEntries(NAMES.map((name, i) => [name, row[i]]));
        delete columns.hash;
        assert.equal(rowBody(row), canonicalText(columns));
      }),
    );
  });

  it('has another hash when any of its columns changes', () => {
    fc.assert(
      fc.property(entries, fc.integer({ min: 0, max: HASH - 1 }), (entry, at) => {
        const row = chained(entry);
        const before = row[at];
        row[at] = typeof before === 'number' ? before + 1 : `${before ?? ''} `;
        assert.notEqual(hashRow(row), row[HASH]);
      }),
    );
  });

  it('keeps the hash that its first version had', () => {
    const row: StoredRow = [
      ...[
        1,
        'call_1',
        'req_1',
        'outcome',
        'file_read',
        'v1',
        'a'.repeat(64),
        1_700_000_000_000,
        1_700_000_000_007,
      ],
      ...[
        'sess_1',
        null,
        '{"rule":"tools.default","verdict":"allow"}',
        '[{"kind":"fs.read","path":"a"}]',
        'ok',
      ],
      ...['[]', 'b'.repeat(64), null, '[]', 100, null, '1::', GENESIS, ''],
    ];
    assert.equal(row.length, NAMES.length);
    assert.equal(hashRow(row), '47fb2456458fa60e181d1bb5e96d0a4ba3c5018cb2f6f97d22d9689b625fb9a7');
  });

  it('replaces lone surrogates in ids and names, since every call must be recorded', () => {
    const [entry] = fc.sample(entries, 1);
    const row = encodeEntry({
      ...entry!,
      requestId: 'a\ud800b',
      decision: { verdict: 'allow', rule: '\udc00' },
    });
    assert.equal(row[2], 'a\ufffdb');
    assert.equal(row[11], '{"rule":"\ufffd","verdict":"allow"}');
  });

  it('refuses times and sizes that are not whole numbers', () => {
    const [entry] = fc.sample(entries, 1);
    for (const bad of [1.5, NaN, Infinity, 2 ** 53]) {
      assert.throws(() => encodeEntry({ ...entry!, bytes: bad }), { reason: 'input.not_canonical' });
    }
  });

  it('has a misfit where a value is not of its column’s type', () => {
    const [entry] = fc.sample(entries, 1);
    const row = chained({ ...entry!, endTs: null, runId: null, attribution: null });
    assert.equal(misfit(row), undefined);
    for (const [name, value] of [
      ['bytes', '1'],
      ['bytes', null],
      ['tool', 5],
      ['tool', null],
      ['end_ts', '1'],
      ['run_id', 5],
    ] as const) {
      const changed = row.with(NAMES.indexOf(name), value);
      assert.equal(misfit(changed), name);
    }
  });

  it('that is no longer JSON is called broken, by its number', () => {
    const [entry] = fc.sample(entries, 1);
    const row = chained(entry!).with(NAMES.indexOf('effects'), '[{');
    assert.throws(() => decodeRow(row), { reason: 'audit.broken', message: /row 1/ });
  });
});
