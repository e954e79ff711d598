import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { InstallationRecord } from '../../contract/store.ts';
import { installedPacks, knownPacks } from './pack-entries.ts';

const record = (name: string, fields: Partial<InstallationRecord> = {}): InstallationRecord => ({
  name,
  entry: null,
  enabled: true,
  addedTs: 1,
  changedTs: 1,
  ...fields,
});
const HUB = { mcp: { url: 'https://mcp.example.org/' } };
const WRITTEN = ['packs/ci', { name: 'calc', stdio: { command: ['calc'] }, enabled: false }] as const;

describe('installedPacks', () => {
  it('are those of haft.yaml where nothing was added', () => {
    assert.equal(installedPacks(WRITTEN, []), WRITTEN);
    assert.deepEqual(installedPacks(WRITTEN, [record('ci')]), WRITTEN);
  });

  it('hold what was added, and leave out what was disabled', () => {
    const records = [record('hub', { entry: HUB }), record('off', { entry: HUB, enabled: false })];
    assert.deepEqual(installedPacks(WRITTEN, [record('ci', { enabled: false }), ...records]), [
      { path: 'packs/ci', enabled: false },
      WRITTEN[1],
      { ...HUB, name: 'hub', enabled: true },
      { ...HUB, name: 'off', enabled: false },
    ]);
  });

  it('never let what was added take the place of what haft.yaml names, or enable it', () => {
    const records = [record('ci', { entry: HUB }), record('calc', { entry: HUB })];
    assert.deepEqual(installedPacks(WRITTEN, records), WRITTEN);
    assert.deepEqual(installedPacks([], [record('gone', { enabled: false })]), []);
  });

  it('leave alone what haft.yaml says wrongly', () => {
    assert.deepEqual(installedPacks([{}, 'ci'], [record('ci', { enabled: false })]), [
      {},
      { path: 'ci', enabled: false },
    ]);
  });
});

describe('knownPacks', () => {
  it('say where each is from, by name', () => {
    assert.deepEqual(knownPacks(WRITTEN, [record('hub', { entry: HUB }), record('ci', { enabled: false })]), [
      { name: 'calc', kind: 'stdio', from: 'haft.yaml', enabled: false, config: WRITTEN[1].stdio },
      { name: 'ci', kind: 'path', from: 'haft.yaml', enabled: false, path: 'packs/ci', config: {} },
      { name: 'hub', kind: 'mcp', from: 'added', enabled: true, config: HUB.mcp },
    ]);
  });

  it('are those that can be read', () => {
    const names = (written: Parameters<typeof knownPacks>[0]) =>
      knownPacks(written, [record('hub', { entry: HUB })]);
    assert.deepEqual(
      names([{}, 'ci', 'x/ci']).map(({ name }) => name),
      ['ci', 'hub'],
    );
  });
});
