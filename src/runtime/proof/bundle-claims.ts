// Owns: what the parts of a bundle say about each other, each as a claim that can be checked from the bundle alone.
// Refuses: digests and the envelope's signature; verify-bundle has checked those before.

import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import { verifyInclusion } from '../../base/merkle.ts';
import { runId } from '../../base/run-id.ts';
import type { TarEntry } from '../../base/tar.ts';
import { decodeTree } from '../../base/tree-manifest.ts';
import type { PublicKey } from '../../contract/bundle.ts';
import { fail } from '../../contract/errors.ts';
import { auditLeaf } from './audit-tree.ts';
import { artifactPath, BUNDLE_FILES, type InclusionFile, manifestPath, treeFiles } from './bundle-files.ts';
import { openCheckpoint } from './checkpoint.ts';
import type { Attested } from './statement.ts';

export interface Claims {
  text(path: string): Promise<string | undefined>;
  readonly files: ReadonlyMap<string, TarEntry>;
  readonly attested: Attested | undefined;
  readonly key: PublicKey | undefined;
  /** Files that are known not to be what was signed. */
  readonly altered: ReadonlySet<string>;
}

/** `parts` are the files that it is about; the first is the one to blame. */
interface Claim {
  readonly parts: readonly string[];
  check(claims: Claims): Promise<void>;
}

const { checkpoint, proof, row, preimage, policy, key, result } = BUNDLE_FILES;

export const CLAIMS: readonly Claim[] = [
  {
    parts: [checkpoint, key],
    check: async (claims) => void (await readCheckpoint(claims)),
  },
  {
    parts: [proof, row, checkpoint, key],
    async check(claims) {
      const { size, root } = await readCheckpoint(claims);
      const given = (await json(claims, proof)) as unknown as InclusionFile;
      const body = (await claims.text(row)) ?? '';
      const holds =
        given.tree_size === size &&
        verifyInclusion({
          leaf: auditLeaf(digest('audit/v1', body)),
          index: given.leaf_index,
          size,
          proof: given.hashes.map((hash) => Buffer.from(hash, 'base64')),
          root,
        });
      if (!holds) throw altered('it does not lead from the row to the root of the checkpoint');
    },
  },
  {
    parts: [preimage],
    async check(claims) {
      const fields = await json(claims, preimage);
      if (digest('params/v1', canonicalJson(fields.params ?? null)) !== fields.paramsHash)
        throw altered('its params are not those of its params hash');
      if (claims.attested && runId(fields as never) !== claims.attested.runId)
        throw altered('it is not the preimage of the run id');
    },
  },
  {
    parts: [policy, preimage],
    async check(claims) {
      const { policyHash } = await json(claims, preimage);
      if (digest('policy/v1', (await claims.text(policy)) ?? '') !== policyHash)
        throw altered('it is not the policy that the run id was computed with');
    },
  },
  {
    parts: [row, preimage],
    async check(claims) {
      const fields = await json(claims, row);
      const { tool } = await json(claims, preimage);
      if (claims.attested && fields.run_id !== claims.attested.runId)
        throw altered('it is about another run');
      if (fields.tool !== tool || fields.phase !== 'outcome' || fields.outcome !== 'ok')
        throw altered('it does not say that the run succeeded');
      const { outputs } = JSON.parse(String(fields.facts ?? '{}')) ?? {};
      for (const [role, artifact] of Object.entries(outputs ?? {})) {
        if (claims.attested && `sha256:${claims.attested.outputs.get(role)}` !== artifact)
          throw altered(`it knows another output "${role}"`);
      }
    },
  },
  {
    parts: [result, row],
    async check(claims) {
      const fields = await json(claims, row);
      const { result: answered } = JSON.parse(String(fields.facts ?? '{}')) ?? {};
      if (answered === undefined || !claims.attested) return;
      if (`sha256:${claims.attested.files.get(result)}` !== answered)
        throw altered('it is not what the row of the audit says that the call answered');
    },
  },
  {
    parts: [preimage],
    async check(claims) {
      const { params } = (await json(claims, preimage)) as { params?: { inputs?: unknown } };
      const inputs = Array.isArray(params?.inputs) ? params.inputs : [];
      for (const { role, digest: named } of inputs as { role: string; digest: string }[]) {
        if (claims.attested && hexOf(String(named)) !== claims.attested.inputs.get(role))
          throw altered(`it names another input "${role}"`);
      }
    },
  },
  { parts: [BUNDLE_FILES.attestation], check: checkArtifacts },
];

/** The files that lie in the bundle for a role are those of the digest that is attested for it. */
async function checkArtifacts({ attested, files, text, altered: known }: Claims): Promise<void> {
  if (!attested) return;
  const runnable = new Set<string>();
  for (const side of ['inputs', 'outputs'] as const) {
    for (const [role, sha256] of attested[side]) {
      const path = artifactPath(side, role);
      const manifest = attested.files.get(manifestPath(path));
      if ((manifest ?? attested.files.get(path)) !== sha256)
        throw altered(`"${path}" is not the artifact that it attests`);
      if (manifest === undefined) continue;
      // Without its manifest nothing can be said about a tree but that.
      if (known.has(manifestPath(path))) return;
      const entries = decodeTree(Buffer.from((await text(manifestPath(path))) ?? ''));
      for (const { path: place, entry } of treeFiles(path, entries)) {
        if (attested.files.get(place) !== entry.sha256)
          throw altered('it is not the file that its tree names', place);
        if (entry.executable) runnable.add(place);
      }
    }
  }
  for (const { path, executable } of files.values()) {
    if (executable !== runnable.has(path))
      throw altered(`it ${executable ? 'can' : 'cannot'} be run, unlike what its tree says`, path);
  }
}

async function readCheckpoint({ text, key: signed }: Claims) {
  if (!signed) throw altered('there is no key to check it with');
  return openCheckpoint((await text(checkpoint)) ?? '', signed);
}

async function json({ text }: Claims, path: string): Promise<Readonly<Record<string, never>>> {
  try {
    return JSON.parse((await text(path)) ?? '');
  } catch {
    throw altered('it is not JSON');
  }
}

const hexOf = (id: string): string => id.replace(/^sha256:/, '');

/** `part` is the file to blame, where that is not the one that the claim is about. */
function altered(fact: string, part?: string): Error {
  return fail('bundle.altered', `Cannot trust it: ${fact}`, part === undefined ? undefined : { part });
}
