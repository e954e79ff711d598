import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createArtifactsCapability } from '../../capabilities/artifacts/capability.ts';
import { createFsCapability } from '../../capabilities/fs/handle.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { openArtifactStore } from '../../stores/artifacts/open-artifact-store.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { processIdentity } from '../../stores/process-identity.ts';
import { openSqliteStore, type SqliteStore } from '../../stores/sqlite/open-sqlite-store.ts';
import { createToolHarness, type ToolHarness } from '../../testing/tool-harness-for-tests.ts';
import { wholeCharacters } from './arguments.ts';
import { artifactGet } from './artifact-get.ts';
import { artifactImport } from './artifact-import.ts';
import { artifactList } from './artifact-list.ts';
import { artifactPreview } from './artifact-preview.ts';

let harness: ToolHarness;
let store: SqliteStore;

before(async () => {
  const files = createFsCapability();
  harness = await createToolHarness({
    schemas: createSchemaCompiler(),
    capabilities: {
      fs: files,
      artifacts: (scope) =>
        createArtifactsCapability({
          files,
          store: async () =>
            openArtifactStore({ objects: scope.objects, rows: store.artifacts, clock: Date }),
        })(scope),
    },
    async openObjects(folder) {
      store = await openSqliteStore({ folder: `${folder}/.haft`, process: processIdentity(), clock: Date });
      return openObjectStore({
        folder: `${folder}/objects`,
        process: processIdentity(),
        small: store.smallObjects,
        uses: store.objectUses,
      });
    },
  });
});

after(async () => {
  await store.close();
  harness.close();
});

const importText = async (content: string) => (await harness.call(artifactImport, { content })).data.artifact;
const NONE: ObjectId = `sha256:${'0'.repeat(64)}`;

describe('artifact_import', () => {
  it('keeps a file of the workspace by its digest, and leaves the file as it is', async () => {
    harness.put('a.txt', 'abc');
    const { data, effects } = await harness.call(artifactImport, { path: 'a.txt' });
    assert.deepEqual(data, {
      artifact: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      kind: 'file',
      size: 3,
      files: 1,
    });
    assert.deepEqual(effects, [{ kind: 'fs.read', path: 'a.txt', tree: true }, { kind: 'artifact.import' }]);
    assert.equal(harness.text('a.txt'), 'abc');
    assert.equal(await importText('abc'), data.artifact);
    const encoded = await harness.call(artifactImport, { content: 'YWJj', encoding: 'base64' });
    assert.equal(encoded.data.artifact, data.artifact);
  });

  it('keeps a folder as a tree, without .git, also through a link to it', async () => {
    harness.put('tree/x', '1');
    harness.put('tree/.hidden', '2');
    harness.put('tree/.git/config', 'not this');
    harness.put('tree/run', '3', 0o755);
    const { data } = await harness.call(artifactImport, { path: 'tree' });
    assert.deepEqual([data.kind, data.files, data.size], ['tree', 3, 3]);
    symlinkSync('tree', `${harness.root}/alias`);
    assert.equal((await harness.call(artifactImport, { path: 'alias' })).data.artifact, data.artifact);
    const got = await harness.call(artifactGet, { artifact: data.artifact });
    assert.deepEqual(
      (got.data.entries as { path: string }[]).map(({ path }) => path),
      ['.hidden', 'run', 'x'],
    );
    const inside = await harness.call(artifactGet, { artifact: data.artifact, path: 'run' });
    assert.deepEqual([inside.data.content, inside.data.kind], ['3', 'tree']);
  });

  it('refuses a tree in which something may not be read, or is a link', async () => {
    harness.put('partly/open', '1');
    harness.put('partly/secret', '2');
    const denies = (effect: object) => 'path' in effect && effect.path === 'partly/secret';
    assert.equal(
      (await harness.refuse(artifactImport, { path: 'partly' }, { denies })).reason,
      'policy.denied',
    );
    symlinkSync('open', `${harness.root}/partly/link`);
    assert.equal((await harness.refuse(artifactImport, { path: 'partly' })).reason, 'path.not_regular');
  });

  it('refuses paths that are not there or outside, and arguments that say two things or none', async () => {
    for (const [args, reason] of [
      [{ path: 'none' }, 'path.not_found'],
      [{ path: '../x' }, 'path.outside_workspace'],
      [{ path: 'a.txt', content: 'x' }, 'input.schema'],
      [{}, 'input.schema'],
      [{ content: '*', encoding: 'base64' }, 'input.encoding'],
    ] as const) {
      assert.equal((await harness.refuse(artifactImport, args)).reason, reason);
    }
  });
});

describe('artifact_get', () => {
  it('answers text, bytes and ranges, and says where it was cut', async () => {
    const artifact = await importText('0123456789');
    const all = await harness.call(artifactGet, { artifact });
    assert.deepEqual(
      [all.data.content, all.data.encoding, all.data.truncated],
      ['0123456789', 'utf-8', false],
    );
    const part = await harness.call(artifactGet, { artifact, start_byte: 3, end_byte: 5 });
    assert.deepEqual([part.data.content, part.data.end_byte, part.data.truncated], ['34', 5, false]);
    const cut = await harness.call(artifactGet, { artifact, start_byte: 4, max_bytes: 3 });
    assert.deepEqual([cut.data.content, cut.data.end_byte, cut.data.truncated], ['456', 7, true]);
    assert.equal(cut.warnings[0]?.reason, 'content.truncated');
    const last = await harness.call(artifactGet, { artifact, start_byte: 10 });
    assert.deepEqual([last.data.content, last.data.end_byte], ['', 10]);
  });

  it('refuses a range that lies outside of the content, or ends before it begins, as file_read does', async () => {
    const artifact = await importText('0123456789');
    for (const range of [
      { start_byte: 40 },
      { start_byte: 11 },
      { start_byte: 100, end_byte: 200 },
      { start_byte: 5, end_byte: 2 },
    ])
      assert.equal((await harness.refuse(artifactGet, { artifact, ...range })).reason, 'input.range');
  });

  it('cuts between characters, so that text stays text', async () => {
    const artifact = await importText('aé€😀');
    for (const [most, text] of [
      [2, 'a'],
      [3, 'aé'],
      [5, 'aé'],
      [9, 'aé€'],
    ] as const) {
      const { data } = await harness.call(artifactGet, { artifact, max_bytes: most });
      assert.deepEqual([data.content, data.encoding], [text, 'utf-8']);
    }
    assert.deepEqual(wholeCharacters(Buffer.from('€')), Buffer.from('€'));
  });

  it('answers for artifacts only', async () => {
    const preImage = await harness.objects.put(Buffer.from('secret'));
    for (const artifact of [preImage, NONE])
      for (const tool of [artifactGet, artifactPreview])
        assert.equal((await harness.refuse(tool, { artifact })).reason, 'artifact.unknown');
    assert.equal((await harness.refuse(artifactGet, { artifact: 'sha256:../x' })).reason, 'input.schema');
  });
});

describe('artifact_list', () => {
  it('answers the newest first, page by page', async () => {
    const first = await importText('listed 1');
    const second = await importText('listed 2');
    const { data } = await harness.call(artifactList, { limit: 1 });
    assert.deepEqual([data.artifacts[0]?.artifact, data.truncated], [second, true]);
    const next = await harness.call(artifactList, { limit: 1, before: second });
    assert.equal(next.data.artifacts[0]?.artifact, first);
    const denied = await harness.refuse(artifactList, {}, { denies: ({ kind }) => kind === 'artifact.read' });
    assert.equal(denied.reason, 'policy.denied');
  });
});

describe('artifact_preview', () => {
  it('shows the first lines of text, the first bytes of anything else and the names of a tree', async () => {
    const text = await importText('one\ntwo\nthree\n');
    const lines = await harness.call(artifactPreview, { artifact: text, lines: 2 });
    assert.deepEqual(
      [lines.data.text, lines.data.truncated, lines.data.looks_like],
      ['one\ntwo', true, 'text'],
    );
    harness.put('long.txt', 'é'.repeat(100_000));
    const long = (await harness.call(artifactImport, { path: 'long.txt' })).data.artifact;
    const shown = await harness.call(artifactPreview, { artifact: long });
    assert.deepEqual([shown.data.looks_like, shown.data.truncated], ['text', true]);
    harness.put('raw', Buffer.from([0, 1, 0x41, 0xff]));
    const raw = (await harness.call(artifactImport, { path: 'raw' })).data.artifact;
    const hex = await harness.call(artifactPreview, { artifact: raw });
    assert.equal(hex.data.text, `00000000: 0001 41ff ${' '.repeat(30)} ..A.`);
    harness.put('names/b', '22', 0o755);
    harness.put('names/sub/c', '');
    const tree = (await harness.call(artifactImport, { path: 'names' })).data.artifact;
    const names = await harness.call(artifactPreview, { artifact: tree });
    assert.equal(names.data.text, 'b*  2\nsub/\nsub/c  0');
  });
});
