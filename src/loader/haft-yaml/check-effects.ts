// Owns: the keys of haft.yaml that nothing looks at yet, and telling who uses one. Whoever builds the thing deletes its line.
// Not here: rules that are not built (check-validators.ts).
import type { Draft, DraftSite } from './draft.ts';

const NO_GIT =
  'this version has no git tools; programs cannot change .git, and reach no host that network does not allow';
const NO_AST = 'this version does not parse code';

/** By their path in the file. */
export const KEYS_WITHOUT_EFFECT: { readonly [key: string]: string } = {
  'git.allow_push': NO_GIT,
  'git.require_clean_tree_for_commit': NO_GIT,
  'ast.language': NO_AST,
  'ast.format_on_save': NO_AST,
  'ast.validate_on_edit': NO_AST,
};

export function checkEffects(draft: Draft, site: DraftSite): void {
  for (const [path, because] of Object.entries(KEYS_WITHOUT_EFFECT)) {
    const [section = '', key = ''] = path.split('.');
    const written = (draft as { readonly [section: string]: unknown })[section];
    if (typeof written !== 'object' || written === null || !Object.hasOwn(written, key)) continue;
    site.report.warn('key.no_effect', site.place(path), `${path} has no effect yet: ${because}`);
  }
}
