// Owns: a server on loopback that answers everything with 1 KiB, in a process of its own; its first line is its port.
// Refuses: to stay longer than whoever started it.
import { createServer } from 'node:http';

const body = Buffer.alloc(1024, 'x');
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length }).end(body);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit()).resume();
