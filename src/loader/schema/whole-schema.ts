// Owns: a schema from what somebody wrote to what a validator takes: checked, and whole in itself.
// Refuses: compiling it before somebody calls the tool.
import { bundleSchema } from './bundle-schema.ts';
import { checkSchema } from './check-schema.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import type { Refusal } from './resolve-reference.ts';
import { type DocumentSource, indexDocument, type SchemaDocument } from './schema-document.ts';

export interface WholeSite {
  /** What is wrong with a regular expression; the same ones come again and again, so that it pays to remember. */
  whyNotPattern(pattern: string): string | undefined;
  /** The document that `reference`, in `base`, leads to. */
  open(uri: string, reference: string, base: SchemaDocument): SchemaDocument | Refusal;
}

/** Undefined where something is wrong with it; that was told. A schema that refers to nothing stays as it is. */
export function wholeSchema(source: DocumentSource, site: WholeSite): unknown {
  const before = source.tell.errors;
  const checked = checkDocument(source, site);
  if (!checked) return undefined;
  if (!checked.refers) return source.root;
  const document = indexDocument({ ...source, dialect: checked.dialect });
  const check: BundleCheck = (root, way, { dialect, tell }) =>
    checkDocument({ root, way, dialect, tell }, site) !== undefined;
  const whole = bundleSchema(document, { open: site.open, check });
  return source.tell.errors > before ? undefined : whole;
}

type BundleCheck = Parameters<typeof bundleSchema>[1]['check'];

/** A document that somebody refers to. Undefined where something is wrong with it. */
export function openDocument(source: DocumentSource, site: WholeSite): SchemaDocument | undefined {
  const before = source.tell.errors;
  const checked = checkDocument(source, site);
  const document = checked && indexDocument({ ...source, dialect: checked.dialect });
  return source.tell.errors > before ? undefined : document;
}

function checkDocument(
  { root, way, tell, dialect: fallback }: Omit<DocumentSource, 'uri'>,
  { whyNotPattern }: WholeSite,
): { readonly dialect: Dialect; readonly refers: boolean } | undefined {
  const dialect = dialectOf(root, fallback) ?? fallback;
  const before = tell.errors;
  const refers = checkSchema(root, way, { tell, dialect, whyNotPattern });
  return tell.errors > before ? undefined : { dialect, refers };
}
