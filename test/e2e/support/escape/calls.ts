// Owns: calls of `curl` that try to reach what policy does not name, and attacks that take several calls at once.
// Refuses: servers beyond this machine.

import type { CallResponse } from '../../../../src/index.ts';
import { ADDRESSES } from '../apart.ts';
import { type EscapeCase, refusedCall, type Step } from './case.ts';

const curl = (
  category: string,
  name: string,
  url: string,
  more: object = {},
  reason = /^http\./,
): EscapeCase =>
  refusedCall(
    category,
    `curl: ${name}`,
    'curl',
    { url, timeout_ms: 5000, ...more },
    { sight: 'connection', reason },
  );

const NOT_ALLOWED = /^http\.not_allowed$/;

const answered = (url: string): Step => ({ tool: 'curl', args: { url, timeout_ms: 5000 }, ends: 'answered' });
const strayed = (url: string): Step => ({
  tool: 'curl',
  args: { url, timeout_ms: 5000 },
  ends: 'refused',
  reason: /^http\.address$/,
});

export const CALLS: readonly EscapeCase[] = [
  curl('loopback', 'a host that is not named', 'http://127.0.0.1:{closed}/', {}, NOT_ALLOWED),
  curl('loopback', 'a name of the same host', 'http://localhost:{granted}/', {}, NOT_ALLOWED),
  curl('decimal and octal addresses', 'decimal', 'http://2130706433:{closed}/', {}, NOT_ALLOWED),
  curl('decimal and octal addresses', 'octal', 'http://0177.0.0.1:{closed}/', {}, NOT_ALLOWED),
  curl('decimal and octal addresses', 'hexadecimal', 'http://0x7f.1:{closed}/', {}, NOT_ALLOWED),
  curl('decimal and octal addresses', 'full-width digits', 'http://①②⑦.0.0.1:{closed}/', {}, NOT_ALLOWED),
  curl('IPv6', '::1', 'http://[::1]:{closed}/', {}, NOT_ALLOWED),
  curl('IPv6', 'an IPv4 address in IPv6', 'http://[::ffff:127.0.0.1]:{granted}/', {}, NOT_ALLOWED),
  curl('IPv6', 'with a zone', 'http://[fe80::1%25lo]:{closed}/', {}, /^http\.url$/),
  curl('0.0.0.0', '0.0.0.0', 'http://0.0.0.0:{closed}/', {}, NOT_ALLOWED),
  curl('0.0.0.0', '0', 'http://0:{closed}/', {}, NOT_ALLOWED),
  curl('metadata', 'the metadata service', `http://${ADDRESSES.metadata}/latest/meta-data/`, {}, NOT_ALLOWED),
  curl(
    'userinfo in URLs',
    'the granted host as a user',
    'http://127.0.0.1:{granted}@127.0.0.1:{closed}/',
    {},
    /^http\.url$/,
  ),
  curl('userinfo in URLs', 'a password', 'http://user:secret@127.0.0.1:{granted}/', {}, /^http\.url$/),
  curl(
    'userinfo in URLs',
    'backslashes',
    'http://127.0.0.1:{closed}\\@127.0.0.1:{granted}/',
    {},
    NOT_ALLOWED,
  ),
  curl('schemes', 'file', 'file:///etc/passwd', {}, /^http\.url$/),
  curl('schemes', 'gopher', 'gopher://127.0.0.1:{granted}/_GET', {}, /^http\.url$/),
  ...['to-closed', 'to-zero', 'to-v6'].map((path) =>
    curl('redirects', path, `http://127.0.0.1:{granted}/${path}`, {}, NOT_ALLOWED),
  ),
  ...['to-metadata', 'to-metadata-decimal', 'to-metadata-v6'].map((path) =>
    curl('redirects to metadata addresses', path, `http://127.0.0.1:{granted}/${path}`, {}, NOT_ALLOWED),
  ),
  ...['to-file', 'to-user'].map((path) =>
    curl('redirects', path, `http://127.0.0.1:{granted}/${path}`, {}, /^http\.(url|failed)$/),
  ),
  curl('redirects', 'without end', 'http://127.0.0.1:{granted}/to-self', {}, /^http\.redirects$/),
  ...Object.entries({
    Host: '127.0.0.1:{closed}',
    'Content-Length': '3',
    'Transfer-Encoding': 'chunked',
    Connection: 'upgrade',
    Upgrade: 'h2c',
    'Proxy-Authorization': 'Basic eDp5',
    'X-A\r\nHost': 'x',
    'X-A': 'a\r\nHost: x\r\n\r\nGET /smuggled HTTP/1.1',
    'X B': 'x',
  }).map(([name, value]) =>
    curl(
      'HTTP smuggling',
      `the header ${JSON.stringify(name)}`,
      'http://127.0.0.1:{granted}/',
      { headers: { [name]: value } },
      /^http\.header$/,
    ),
  ),
  curl(
    'HTTP smuggling',
    'CRLF in the URL',
    'http://127.0.0.1:{granted}/a HTTP/1.1\r\nHost: x\r\n\r\n',
    {},
    /^http\.url$/,
  ),
  curl(
    'HTTP smuggling',
    'another method',
    'http://127.0.0.1:{granted}/',
    { method: 'CONNECT' },
    /^input\.schema$/,
  ),
  {
    category: 'DNS rebinding',
    name: 'curl: a name that leads elsewhere the second time',
    sight: 'connection',
    network: true,
    waits: true,
    steps: [answered('http://rebind.test:{rebind}/rebound'), strayed('http://rebind.test:{rebind}/rebound')],
    async run(arena) {
      const first = await arena.call(this.steps[0]!);
      let again: CallResponse = first;
      // Until the name is asked for a second time its address is kept, and each call goes to that one.
      while (arena.listeners.asked.get('rebind.test') === 1) {
        again = await arena.call(this.steps[1]!);
        if (again.ok) await new Promise((resolve) => setTimeout(resolve, 100));
      }
      return [first, again];
    },
  },
  {
    category: 'DNS rebinding',
    name: 'curl: a name with a public and a private address',
    sight: 'connection',
    network: true,
    steps: [answered('http://mixed.test:{rebind}/mixed')],
  },
  {
    category: 'DNS rebinding',
    name: 'curl: names that lead inward',
    sight: 'connection',
    network: true,
    steps: ['inward', 'metadata', 'lan'].map((name) => strayed(`http://${name}.test:{rebind}/`)),
  },
];
