// Owns: the shape of the errors that base throws; contract/errors.ts has a row for each reason.
// Refuses: any code but E_VALIDATION_FAIL, since base only ever judges what it was given.

export type BaseReason = 'input.not_canonical' | 'input.not_json' | 'input.glob';

export interface Rejection extends Error {
  readonly code: 'E_VALIDATION_FAIL';
  readonly reason: BaseReason;
  /** JSON pointer to the culprit, where the input has an inside. */
  readonly path?: string;
}

export function rejection(reason: BaseReason, message: string, path?: string): Rejection {
  const own = { code: 'E_VALIDATION_FAIL', reason } as const;
  return Object.assign(new Error(message), path === undefined ? own : { ...own, path });
}

/** The JSON pointer (RFC 6901) of these keys and indices. A lone surrogate becomes U+FFFD, so that the pointer itself stays printable. */
export function jsonPointer(segments: readonly (string | number)[]): string {
  return segments
    .map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
    .toWellFormed();
}
