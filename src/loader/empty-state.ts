// Owns: state for who only looks at a workspace that has none: an empty folder elsewhere, gone when the look is over.
// Refuses: to make `.haft`: looking leaves nothing behind.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasState } from './workspace.ts';

interface EmptyState {
  readonly folder: string;
  remove(): void;
}

/** Undefined where the workspace has state. */
function emptyStateFor(workspace: string): EmptyState | undefined {
  if (hasState(workspace)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'haft-look-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Opens with such a state where the workspace has none; it goes when what was opened is closed, or could not be. */
export async function openToLook<T extends { close(): Promise<void> }>(
  workspace: string,
  open: (state: string | undefined) => Promise<T>,
): Promise<T> {
  const empty = emptyStateFor(workspace);
  try {
    const opened = await open(empty?.folder);
    const { close } = opened;
    return Object.assign(opened, { close: () => close().finally(() => empty?.remove()) });
  } catch (thrown) {
    empty?.remove();
    throw thrown;
  }
}
