// Owns: a schema from what somebody wrote to what a validator takes: checked, and whole in itself.
// Refuses: compiling it before somebody calls the tool.
import type { Teller } from '../yaml/problem.ts';
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
  const checked = checkDocument(source, site);
  if (!checked) return undefined;
  if (!checked.refers) return source.root;
  const document = indexDocument(checked.source);
  const check: BundleCheck = (schema, way, { dialect, tell }) =>
    checkDocument({ uri: '', root: schema, way, dialect, tell }, site) !== undefined;
  const whole = bundleSchema(document, { open: site.open, check });
  return checked.failed() ? undefined : whole;
}

type BundleCheck = Parameters<typeof bundleSchema>[1]['check'];

/** A document that somebody refers to. Undefined where something is wrong with it. */
export function openDocument(source: DocumentSource, site: WholeSite): SchemaDocument | undefined {
  const checked = checkDocument(source, site);
  const document = checked && indexDocument(checked.source);
  return checked?.failed() ? undefined : document;
}

function checkDocument(source: DocumentSource, { whyNotPattern }: WholeSite) {
  const dialect: Dialect = dialectOf(source.root, source.dialect) ?? source.dialect;
  let errors = 0;
  const counting =
    <K extends 'error' | 'key'>(kind: K): Teller[K] =>
    (...args) => {
      errors++;
      source.tell[kind](...args);
    };
  const tell: Teller = { ...source.tell, error: counting('error'), key: counting('key') };
  const refers = checkSchema(source.root, source.way, { tell, dialect, whyNotPattern });
  if (errors > 0) return undefined;
  return { refers, source: { ...source, dialect, tell }, failed: () => errors > 0 };
}
