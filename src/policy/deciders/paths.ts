// Owns: what policy says about reading or writing a path: where it lies, what is protected, which rules match.
// Refuses: the disk; the path is normalised text, and what links do to it is checked where it is opened.
import { isUnder, parentOf } from '../../base/rel-path.ts';
import type { EffectShapes } from '../../contract/effect.ts';
import { blocksTree } from '../../contract/policy-match.ts';
import type { CompiledPolicy } from '../compile-policy.ts';
import type { Finding } from '../finding.ts';
import { locatePath } from '../locate-path.ts';
import { ownedBy } from '../protected-paths.ts';

type Access = 'read' | 'write';

export function decidePath(
  access: Access,
  { path: given, tree }: EffectShapes['fs.read'],
  policy: CompiledPolicy,
): readonly Finding[] {
  const path = locatePath(given, policy.workspace);
  const byPlace = decidePlace(path, given, policy);
  if (path === undefined) return [byPlace];
  const wholeTree = access === 'write' && tree === true;
  // What lies outside is held against the rules all the same: whoever lifts the one has to lift the others.
  const findings: Finding[] = byPlace.verdict === 'allow' ? [] : [byPlace];
  findProtected(access, path, wholeTree, policy, findings);
  for (const layer of policy.layers) {
    for (const { rule, glob, path: matcher, [access]: verdict } of layer.paths) {
      if (verdict === undefined) continue;
      // Of a tree that is written, one denied place is enough. Of one that is read, denied files are left out.
      const inTheWay = wholeTree && blocksTree(matcher, verdict, path);
      if (!inTheWay && !matcher.matches(path)) continue;
      const { where, ...cited } = layer.cite(rule);
      const grant = layer.grant({ paths: { rules: [{ path: glob, [access]: 'allow' }] } });
      findings.push({ verdict, ...cited, fact: `${where} says ${verdict}`, grant });
    }
  }
  if (findings.length === 0) findings.push(byPlace);
  return findings;
}

const IN_WORKSPACE: Finding = {
  verdict: 'allow',
  rule: 'default',
  fact: 'paths in the workspace are granted',
};

/** What holds where no rule matches: in the workspace, below an extra root, or outside. */
function decidePlace(path: string | undefined, given: string, policy: CompiledPolicy): Finding {
  if (path !== undefined && !path.startsWith('/')) return IN_WORKSPACE;
  const root = policy.extraRoots.find((one) => path !== undefined && isUnder(path, one.path));
  if (root) return { verdict: 'allow', rule: root.rule, fact: `${root.rule} holds it` };
  const folder = path === undefined ? undefined : parentOf(path);
  // A root that holds the workspace is refused at load, so naming it would admit nothing.
  const nameable = folder && !(policy.workspace && isUnder(policy.workspace, folder));
  return {
    verdict: 'deny',
    rule: 'paths.extra_roots',
    reason: 'path.outside_workspace',
    fact: 'it lies neither in the workspace nor below one of paths.extra_roots',
    grant: nameable ? { paths: { extra_roots: [asGiven(given, folder)] } } : undefined,
  };
}

/** A folder is named as the path was: who said `../x/y` is told of `../x`, not where that is on this machine. */
function asGiven(given: string, folder: string): string {
  const relative = /^((?:\.\.\/)+)((?!\.\.?(?:\/|$)).+)$/s.exec(given);
  return relative ? `${relative[1]}${parentOf(relative[2] as string)}` : folder;
}

function findProtected(
  access: Access,
  path: string,
  wholeTree: boolean,
  policy: CompiledPolicy,
  findings: Finding[],
): void {
  for (const one of policy.protectedPaths) {
    if (access === 'read' && one.read) continue;
    const isIn = one.alone ? path === one.path : isUnder(path, one.path);
    if (!isIn && !(wholeTree && isUnder(one.path, path))) continue;
    const fact = isIn ? one.fact : `it holds ${one.path}: ${one.fact}; name the folders that are needed`;
    findings.push({ verdict: 'deny', rule: one.rule, reason: 'path.protected', fact });
  }
  const owned = ownedBy(path, access) ?? (wholeTree && path === '.' ? ownedBy('.git', 'write') : undefined);
  if (!owned || findings.some(({ rule }) => rule === owned.rule)) return;
  findings.push({ verdict: 'deny', rule: owned.rule, reason: 'path.protected', fact: owned.fact });
}
