// Owns: loading node:sqlite on first use, without the notice that some Node versions print for it.
// Refuses: to silence any other warning, or to keep listening once the module is there.
import { fail } from '../../contract/errors.ts';

export function loadSqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process;
  process.emitWarning = ((...args: Parameters<typeof emitWarning>) => {
    if (!isSqliteNotice(args)) Reflect.apply(emitWarning, process, args);
  }) as typeof emitWarning;
  try {
    // Types promise both: an older Node has not.
    const sqlite = process.getBuiltinModule?.('node:sqlite') as typeof import('node:sqlite') | undefined;
    if (sqlite) return sqlite;
    throw fail('node.too_old', `haft needs Node.js 22.19 or newer; this is ${process.versions.node}`);
  } finally {
    process.emitWarning = emitWarning;
  }
}

function isSqliteNotice([warning, options]: readonly unknown[]): boolean {
  const type = typeof options === 'object' ? (options as { type?: unknown } | null)?.type : options;
  return type === 'ExperimentalWarning' && String(warning).startsWith('SQLite ');
}
