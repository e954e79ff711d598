// Owns: the credentials of a workspace's host: the system's beside the key, those of users in the workspace's store.
// Refuses: to open the store, or to make a key, before somebody needs it.
import type { CredentialRows, Credentials } from '../contract/credentials.ts';
import type { Store } from '../contract/store.ts';
import { openToLook } from '../loader/empty-state.ts';
import { createSchemaCompiler } from '../loader/schema/schema-compiler.ts';
import { createCredentials } from '../runtime/credentials/create-credentials.ts';
import { createCredentialFiles, ensureHostKey, readHostKey } from '../stores/machine/host-key.ts';
import { processIdentity } from '../stores/process-identity.ts';
import { openSqliteStore } from '../stores/sqlite/open-sqlite-store.ts';

export interface CredentialSite {
  /** The absolute, resolved workspace. */
  readonly workspace: string;
  /** Where those of users are kept: `store.credentials`. Asked when one is needed. */
  users(): Promise<CredentialRows>;
  readonly env?: { readonly [name: string]: string | undefined };
}

export function openCredentials({ workspace, users, env = process.env }: CredentialSite): Credentials {
  const site = { workspace, env };
  return createCredentials({
    readKey: () => readHostKey(site),
    ensureKey: () => ensureHostKey(site),
    system: createCredentialFiles(site),
    users,
    schemas: createSchemaCompiler(),
    clock: Date,
  });
}

/** Without a runtime: credentials can be put right also where nothing else would start. */
export async function withCredentials<T>(
  workspace: string,
  use: (credentials: Credentials) => Promise<T>,
  looks = false,
): Promise<T> {
  let opened: Promise<Store> | undefined;
  const open = (folder = `${workspace}/.haft`) =>
    openSqliteStore({ folder, process: processIdentity(), clock: Date });
  const users = async () => {
    opened ??= looks ? openToLook(workspace, open) : open();
    return (await opened).credentials;
  };
  try {
    return await use(openCredentials({ workspace, users }));
  } finally {
    await (await opened?.catch(() => undefined))?.close();
  }
}
