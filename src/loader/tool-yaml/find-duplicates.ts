// Owns: that every tool has an id of its own, in its pack and among all packs.
// Refuses: taking either of two that have the same; who is meant cannot be known.
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { CheckedFile } from './checked-file.ts';

export interface Duplicates {
  /** Paths of the manifests that share an id. */
  readonly paths: ReadonlySet<string>;
  readonly diagnostics: readonly Diagnostic[];
}

/** `taken` are the ids of other packs, each with the name of its manifest. */
export async function findDuplicates(
  folder: string,
  files: readonly CheckedFile[],
  taken: ReadonlyMap<string, string>,
): Promise<Duplicates> {
  const first = new Map<string, CheckedFile>();
  const clashes: { readonly id: string; readonly file: CheckedFile; readonly other: string }[] = [];
  const paths = new Set<string>();
  for (const file of files) {
    for (const id of file.tool?.ids ?? []) {
      const other = first.get(id);
      const elsewhere = taken.get(id);
      if (!other && elsewhere === undefined) {
        first.set(id, file);
        continue;
      }
      // Whichever was read first, the one whose name comes later is told.
      const [kept, told] = other && file.path < other.path ? [file, other] : [other, file];
      if (kept) first.set(id, kept);
      clashes.push({ id, file: told, other: elsewhere ?? (kept as CheckedFile).path });
      paths.add(file.path);
      if (other) paths.add(other.path);
    }
  }
  const diagnostics = await Promise.all(
    clashes.map(async ({ id, file, other }): Promise<Diagnostic> => {
      const [own] = file.tool?.ids ?? [];
      const steps = id === own ? ['id'] : ['actions', id.slice((own ?? '').length + 1)];
      const { locateKey } = await import('./locate-key.ts');
      return {
        file: file.path,
        ...(await locateKey(folder, file.path, steps)),
        severity: 'error',
        code: 'id.duplicate',
        message: `${id} is already the id of a tool in ${other}`,
      };
    }),
  );
  return { paths, diagnostics };
}
