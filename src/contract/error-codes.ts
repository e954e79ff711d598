// Owns: the ten codes of the SDK spec, and what each door says for one unless a reason says otherwise.
// Refuses: to know any reason; those are rows of errors.ts.

export type ErrorCode =
  | 'E_FILE_IO'
  | 'E_AST_PARSE'
  | 'E_AST_EDIT'
  | 'E_VALIDATION_FAIL'
  | 'E_GIT'
  | 'E_HTTP'
  | 'E_SHELL'
  | 'E_POLICY'
  | 'E_TIMEOUT'
  | 'E_INTERNAL';

/** What each door says for a failure. `native` is the `ToolResult` number of the native ABI. */
export interface ErrorRow {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly http: number;
  readonly rpc: number;
  readonly exit: number;
  readonly native: number;
  readonly meaning: string;
}

/** The door numbers that a code has unless a reason says otherwise. */
export const CODE_DEFAULTS: Readonly<Record<ErrorCode, Omit<ErrorRow, 'code' | 'meaning'>>> = {
  E_VALIDATION_FAIL: { retryable: false, http: 422, rpc: -32602, exit: 2, native: 2 },
  E_POLICY: { retryable: false, http: 403, rpc: -32001, exit: 3, native: 3 },
  E_TIMEOUT: { retryable: true, http: 504, rpc: -32002, exit: 4, native: 1 },
  E_FILE_IO: { retryable: false, http: 409, rpc: -32003, exit: 5, native: 1 },
  E_SHELL: { retryable: false, http: 502, rpc: -32004, exit: 6, native: 1 },
  E_HTTP: { retryable: false, http: 502, rpc: -32005, exit: 7, native: 1 },
  E_GIT: { retryable: false, http: 409, rpc: -32006, exit: 8, native: 1 },
  E_AST_PARSE: { retryable: false, http: 422, rpc: -32007, exit: 9, native: 2 },
  E_AST_EDIT: { retryable: false, http: 409, rpc: -32008, exit: 10, native: 1 },
  E_INTERNAL: { retryable: false, http: 500, rpc: -32603, exit: 70, native: 1 },
};

export const row = (
  code: ErrorCode,
  meaning: string,
  own: Partial<Omit<ErrorRow, 'code' | 'meaning'>> = {},
): ErrorRow => {
  const usual = CODE_DEFAULTS[code];
  return Object.freeze({
    code,
    retryable: own.retryable ?? usual.retryable,
    http: own.http ?? usual.http,
    rpc: own.rpc ?? usual.rpc,
    exit: own.exit ?? usual.exit,
    native: own.native ?? usual.native,
    meaning,
  });
};
