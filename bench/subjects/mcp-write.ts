// Owns: writing files over MCP stdio, against the reference file server with fsync added, and as it is.
// Refuses: to call the peer as it is a goal: what it answers may be gone after a power cut.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { driveBoth } from '../drive.ts';
import { type FileServers, openFileServers } from '../file-servers.ts';
import { makeFiles, sourceText } from '../fixtures.ts';
import { makeJournaledFolder } from '../journaled-folder.ts';
import type { McpClient } from '../mcp-client.ts';
import { type Comparison, type Contender, defineSubject } from '../measure.ts';

const SYNCING = 'server-filesystem + fsync';
const RAW = 'server-filesystem';
const CONTENT = sourceText(1024);
const OVERWRITTEN = 256;
/** New files are spread over folders: the peer reads a new file's folder whole. */
const FOLDERS = 64;

/** Names never repeat, whichever round asks. */
const names = { next: 0 };
const newFile = (owner: string) => `${owner}/folder-${names.next % FOLDERS}/file-${names.next++}.ts`;
const oldFile = (owner: string, index: number) => `${owner}/old-${index % OVERWRITTEN}.ts`;

type Write = (servers: FileServers, path: string) => Promise<unknown>;
const throughPeer = (server: McpClient, { workspace }: FileServers, path: string) =>
  server.call('write_file', { path: join(workspace, path), content: CONTENT });

const WRITERS: Readonly<Record<string, { readonly owner: string; readonly write: Write }>> = {
  'haft mcp': {
    owner: 'haft',
    write: ({ haft }, path) => haft.call('file_write', { path, content: CONTENT }),
  },
  [SYNCING]: {
    owner: 'syncing',
    write: (servers, path) => throughPeer(servers.syncingPeer, servers, path),
  },
  [RAW]: { owner: 'raw', write: (servers, path) => throughPeer(servers.peer, servers, path) },
};

const contenders = (place: (owner: string, index: number) => string) =>
  Object.fromEntries(
    Object.entries(WRITERS).map(([name, { owner, write }]): [string, Contender<FileServers>] => [
      name,
      (servers, { sliceMs }) =>
        driveBoth((index) => write(servers, place(owner, index)), { inFlight: 64, ms: sliceMs }),
    ]),
  );

const comparison = (
  name: string,
  place: (owner: string, index: number) => string,
): Comparison<FileServers> => ({
  name,
  rounds: 9,
  contenders: contenders(place),
  goals: [
    { figure: 'rate', ratio: '>', value: 1, of: SYNCING },
    { figure: 'p50', ratio: '<', value: 1, of: SYNCING },
  ],
  also: [
    { figure: 'p50', of: RAW },
    { figure: 'rate', of: RAW },
  ],
});

export const mcpWrite = defineSubject<FileServers>({
  name: 'mcp-write',
  about:
    '1 KiB writes over MCP stdio: Haft with everything that makes them durable and undoable, against ' +
    '`@modelcontextprotocol/server-filesystem` whose writes are made to fsync the file (not the folder), and against it as it ' +
    'is, which is not durable and only for information. Throughput with 64 in flight; p50 with one call at a time, where three ' +
    'syncs that must follow each other (intent, folder, outcome) stand against one. On a file system with a journal.',
  open: () =>
    openFileServers((workspace) => {
      for (const { owner } of Object.values(WRITERS)) {
        for (let i = 0; i < FOLDERS; i++)
          mkdirSync(join(workspace, owner, `folder-${i}`), { recursive: true });
        makeFiles(workspace, `${owner}/old-`, OVERWRITTEN, 1024);
      }
    }, makeJournaledFolder()),
  close: (servers) => servers.close(),
  comparisons: [
    comparison('write new files', (owner) => newFile(owner)),
    comparison('overwrite files', oldFile),
  ],
});
