// Owns: a registry of npm packages with one package in it, made on the spot, and the name under which it is found.
// Refuses: everything else that registries do.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADDRESSES } from '../apart.ts';
import { answerTo, nameIn } from '../escape/dns.ts';

export interface PackageRegistry {
  /** As policy names it, `private` where it leads to this machine itself. */
  readonly domain: { readonly domain: string; readonly private: boolean };
  /** `http://…/` */
  readonly url: string;
  /** Of the package. */
  readonly tarball: string;
  readonly integrity: string;
  /** Paths that were asked for. */
  readonly asked: string[];
  close(): Promise<void>;
}

const NAME = 'registry.test';

/** `network`: whether this process has `ADDRESSES` and is asked for names; otherwise it is found by its address. */
export async function startRegistry(network: boolean): Promise<PackageRegistry> {
  const bytes = makePackage();
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/left') {
      const dist = { tarball, integrity };
      const versions = { '1.0.0': { name: 'left', version: '1.0.0', dist } };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ name: 'left', 'dist-tags': { latest: '1.0.0' }, versions }));
    } else if (request.url === '/left/-/left-1.0.0.tgz') response.end(bytes);
    else response.writeHead(404).end();
  });
  server.listen(network ? 80 : 0, network ? ADDRESSES.public : '127.0.0.1');
  await once(server, 'listening');
  const place = network ? NAME : `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `http://${place}/`;
  const tarball = `${url}left/-/left-1.0.0.tgz`;
  const names = network ? await answerNames() : undefined;
  return {
    domain: { domain: place, private: !network },
    url,
    tarball,
    integrity,
    asked,
    async close() {
      names?.close();
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

async function answerNames() {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const known = nameIn(query) === NAME ? [ADDRESSES.public] : [];
    socket.send(answerTo(query, known).bytes, from.port, from.address);
  });
  socket.bind(53, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}

/** As `npm pack` makes it. */
function makePackage(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'haft-package-'));
  try {
    mkdirSync(join(folder, 'package'));
    writeFileSync(
      join(folder, 'package/package.json'),
      '{"name":"left","version":"1.0.0","main":"index.js"}\n',
    );
    writeFileSync(join(folder, 'package/index.js'), 'module.exports = (text) => `left of ${text}`;\n');
    execFileSync('tar', ['-czf', 'left.tgz', 'package'], { cwd: folder });
    return readFileSync(join(folder, 'left.tgz'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
