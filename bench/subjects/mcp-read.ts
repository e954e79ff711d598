// Owns: reading files over MCP stdio, against the reference file server.
// Refuses: other clients: both servers are asked by the same one, over the same kind of pipe.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { driveBoth } from '../drive.ts';
import { type FileServers, openFileServers } from '../file-servers.ts';
import { makeFiles } from '../fixtures.ts';
import { resultOf } from '../mcp-client.ts';
import { type Comparison, defineSubject } from '../measure.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const PEER = 'server-filesystem';

interface Size {
  readonly name: string;
  readonly bytes: number;
  readonly files: number;
  readonly inFlight: number;
  readonly rounds: number;
  /** The most that ours may take, as a share of the peer's p50. */
  readonly share?: number;
}

const SIZES: readonly Size[] = [
  { name: '1 KiB', bytes: KIB, files: 64, inFlight: 64, rounds: 11 },
  { name: '64 KiB', bytes: 64 * KIB, files: 16, inFlight: 16, rounds: 9 },
  { name: '1 MiB', bytes: MIB, files: 4, inFlight: 4, rounds: 9, share: 0.65 },
  { name: '8 MiB', bytes: 8 * MIB, files: 2, inFlight: 2, rounds: 7 },
];

const fileOf = ({ bytes, files }: Size, index: number) => `read-${bytes}-${index % files}.ts`;
const readOurs =
  ({ haft }: FileServers, size: Size) =>
  (index: number) =>
    haft.call('file_read', { path: fileOf(size, index), max_bytes: size.bytes });
const readTheirs =
  ({ peer, workspace }: FileServers, size: Size) =>
  (index: number) =>
    peer.call('read_text_file', { path: join(workspace, fileOf(size, index)) });

const comparison = (size: Size): Comparison<FileServers> => ({
  name: `read ${size.name}`,
  rounds: size.rounds,
  contenders: {
    'haft mcp': (servers, { sliceMs }) =>
      driveBoth(readOurs(servers, size), { inFlight: size.inFlight, ms: sliceMs, atLeast: 4 }),
    [PEER]: (servers, { sliceMs }) =>
      driveBoth(readTheirs(servers, size), { inFlight: size.inFlight, ms: sliceMs, atLeast: 4 }),
  },
  goals: [
    size.share === undefined
      ? { figure: 'p50', ratio: '<', value: 1, of: PEER }
      : { figure: 'p50', ratio: '<=', value: size.share, of: PEER },
    { figure: 'rate', ratio: '>', value: 1, of: PEER },
  ],
});

export const mcpRead = defineSubject<FileServers>({
  name: 'mcp-read',
  about:
    'Reads over MCP stdio against `@modelcontextprotocol/server-filesystem`: p50 with one call at a time; throughput with ' +
    '64 (1 KiB), 16 (64 KiB), 4 (1 MiB) and 2 (8 MiB) in flight.',
  async open() {
    const servers = await openFileServers((workspace) => {
      for (const { bytes, files } of SIZES) makeFiles(workspace, `read-${bytes}-`, files, bytes);
    });
    for (const size of SIZES) {
      const ours = resultOf(await readOurs(servers, size)(0)).content[0].text;
      assert.equal(ours, resultOf(await readTheirs(servers, size)(0)).structuredContent.content);
      assert.equal(ours.length, size.bytes);
    }
    return servers;
  },
  close: (servers) => servers.close(),
  comparisons: SIZES.map(comparison),
});
