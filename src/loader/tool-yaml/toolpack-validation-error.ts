// Owns: the failure of a pack that is not right: one failure with every diagnostic in it.
// Refuses: to be told by its class; `reason` is `pack.invalid`, as for every other kind of pack.
import { type Diagnostic, formatDiagnostic } from '../../contract/diagnostic.ts';
import { ERRORS, type ErrorCode, type Reason } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';

const SHOWN = 20;

export class ToolpackValidationError extends Error {
  override readonly name = 'ToolpackValidationError';
  readonly reason: Reason = 'pack.invalid';
  readonly code: ErrorCode = ERRORS['pack.invalid'].code;
  readonly retryable = false;
  /** All of them, warnings too, by file and place. */
  readonly diagnostics: readonly Diagnostic[];
  readonly details: { readonly [key: string]: Json };

  constructor(pack: string, diagnostics: readonly Diagnostic[]) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    const lines = errors.slice(0, SHOWN).map(formatDiagnostic);
    if (errors.length > SHOWN) lines.push(`and ${errors.length - SHOWN} more`);
    const count = errors.length === 1 ? 'it has a problem' : `it has ${errors.length} problems`;
    super(`Cannot load the pack ${JSON.stringify(pack)}: ${count}\n${lines.join('\n')}`);
    this.diagnostics = diagnostics;
    this.details = { diagnostics: diagnostics.slice(0, SHOWN).map((one) => ({ ...one })) };
  }
}
