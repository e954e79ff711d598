// Owns: the list of tools as MCP clients were last told it, kept so that a client does not wait for the runtime.
// Refuses: to be the truth: the runtime is, and whoever opens it compares.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../contract/version.ts';
import { readOwnCache, writeOwnCache } from '../../loader/own-cache.ts';
import { trustFilesOf } from '../../preset/trust/trust.ts';
import type { McpView } from './view.ts';

const FORMAT = 4;

interface Kept {
  /** Which haft.yaml it was made under, and whose trust in it. */
  readonly policy: string;
  readonly tools: string;
}

/** The JSON text of the tools, or undefined when it was never kept or haft.yaml is another one by now. */
export function readCatalogue(workspace: string, view: McpView): string | undefined {
  const { file } = trustFilesOf(workspace);
  // Whoever may write the folder could have left a list there for a policy that nobody trusts.
  if (existsSync(join(workspace, 'haft.yaml')) && !(file && existsSync(join(file.folder, file.name))))
    return undefined;
  const kept = readOwnCache<Kept>(folderOf(workspace), nameOf(view), FORMAT);
  return kept?.policy === policyOf(workspace) ? kept.tools : undefined;
}

export function writeCatalogue(workspace: string, view: McpView, tools: string): void {
  const kept = { policy: policyOf(workspace), tools };
  writeOwnCache<Kept>(folderOf(workspace), nameOf(view), FORMAT, kept);
}

/** Clients that chose otherwise are told otherwise. */
const nameOf = ({ profile, outputSchemas }: McpView): string =>
  `${VERSION}-${profile}${outputSchemas ? '-output' : ''}`;

const folderOf = (workspace: string) => join(workspace, '.haft', 'cache', 'mcp');

/** Reading and hashing the file would cost more than it is worth: what is told first is compared soon after. */
function policyOf(workspace: string): string {
  const { file } = trustFilesOf(workspace);
  const trust = file ? stateOf(join(file.folder, file.name)) : 'none';
  return `${stateOf(join(workspace, 'haft.yaml'))} ${trust} ${process.env.HAFT_TRUST ?? ''}`;
}

function stateOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat ? `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}` : 'none';
}
