// Owns: `haft artifacts verify`: are the bytes of artifacts still those of their ids?
// Refuses: to mend anything; importing the same bytes again does.
import type { ArtifactStore, ArtifactVerdict } from '../../../contract/artifacts.ts';
import { ERRORS } from '../../../contract/errors.ts';
import type { ObjectId } from '../../../contract/object-store.ts';
import { artifactId } from '../artifact-id.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Hash artifacts again, all of them by default',
  usage: '[ARTIFACT…]',
  description: 'Names each whose bytes are gone or changed. Importing the same bytes again puts it right.',
  examples: ['haft artifacts verify', 'haft artifacts verify sha256:…'],
  positionals: [0, 1000],
  reads: true,
  async run({ runtime, positionals, io, json }) {
    const artifacts = await (await runtime()).artifacts();
    const ids = positionals.map(artifactId);
    const bad: ({ readonly artifact: ObjectId } & ArtifactVerdict)[] = [];
    let count = 0;
    for await (const id of ids.length > 0 ? ids : every(artifacts)) {
      if (io.signal.aborted) break;
      count++;
      const verdict = await artifacts.verify(id);
      if (verdict.state === 'ok') continue;
      bad.push({ artifact: id, ...verdict });
      const inside = verdict.path === undefined ? '' : `: "${verdict.path}" in it`;
      if (!json) io.err(`haft: ${id}${inside} is ${verdict.state} [E_INTERNAL object.${verdict.state}]\n`);
    }
    if (json) io.out(`${JSON.stringify({ ok: bad.length === 0, verified: count, bad })}\n`);
    else if (bad.length === 0) io.out(`All ${count} artifacts verify.\n`);
    return bad.length === 0 ? 0 : ERRORS['object.corrupt'].exit;
  },
};

const PAGE = 500;

async function* every(artifacts: ArtifactStore): AsyncGenerator<ObjectId> {
  let before: ObjectId | undefined;
  for (;;) {
    const page = await artifacts.list({ limit: PAGE, ...(before ? { before } : {}) });
    for (const { id } of page) yield id;
    if (page.length < PAGE) return;
    before = page.at(-1)!.id;
  }
}
