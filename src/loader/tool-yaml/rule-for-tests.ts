// Owns: what a case of rules.test.ts is.
// Refuses: cases.

export type Change = { readonly [key: string]: string | null };

export interface Refused {
  /** A whole file, or what is different from the smallest one; `¦` marks the place that is told. */
  readonly text: string | Change;
  readonly says: string;
  readonly hint?: string;
  /** Where it is another one than the rule's. */
  readonly code?: string;
  /** It is told, and the tool is loaded all the same. */
  readonly warning?: true;
}

export interface Rule {
  readonly code: string;
  readonly takes: readonly (string | Change)[];
  readonly refuses: readonly Refused[];
}

export type Rules = { readonly [name: string]: Rule };

/** The execution of a request that is fine, with more keys in it. */
export const httpWith = (more = '') => `{ kind: http, url: 'https://example.org/x', method: POST${more} }`;
