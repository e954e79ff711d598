// Owns: that a proxy is the only way out, by unix socket or by address.
// Refuses: to judge what a proxy lets through; here it answers everything itself.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { SandboxProxy } from '../../../contract/sandbox.ts';
import { identities, withSandbox } from './probes.ts';

/** A small HTTP client that obeys http_proxy. */
const FETCH = `
use IO::Socket::INET;
my ($host) = $ENV{http_proxy} =~ m{^http://(.*)$} or die "no proxy variable";
my $s = IO::Socket::INET->new(PeerAddr => $host) or die "no proxy: $!";
print $s "GET http://example.org/ HTTP/1.0\\r\\n\\r\\n";
my @lines = <$s>; print $lines[-1];
my $d = IO::Socket::INET->new(PeerAddr => "$ARGV[0]"); print $d ? "direct" : " not direct";
`;

for (const identity of identities()) {
  describe(`a proxy (${identity})`, () => {
    it('is reached from inside, and nothing else is', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'haft-proxy-'));
      const byAddress = await listen(['127.0.0.1', 0]);
      const bySocket = await listen([join(folder, 'proxy.sock')]);
      const { port } = byAddress.address() as AddressInfo;
      const proxies: SandboxProxy[] = [{ host: '127.0.0.1', port }, { socket: join(folder, 'proxy.sock') }];
      try {
        await withSandbox({ identity }, async ({ sandbox }) => {
          for (const proxy of proxies) {
            const result = await sandbox.run({
              argv: ['perl', '-e', FETCH, `127.0.0.1:${port}`],
              env: sandbox.baseEnv,
              network: { proxy },
              timeoutMs: 30_000,
            });
            assert.equal(
              Buffer.from(result.stdout).toString(),
              'seen http://example.org/ not direct',
              Buffer.from(result.stderr).toString(),
            );
            assert.equal(result.code, 0);
          }
        });
      } finally {
        for (const server of [byAddress, bySocket]) server.close();
        rmSync(folder, { recursive: true });
      }
    });
  });
}

async function listen(where: [string] | [string, number]): Promise<Server> {
  const server = createServer((request, response) => response.end(`seen ${request.url}`));
  if (where.length === 1) server.listen(where[0]);
  else server.listen(where[1], where[0]);
  await once(server, 'listening');
  return server;
}
