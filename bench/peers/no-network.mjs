// Owns: keeping a peer that reports home at home: preloaded, it refuses every connection.
// Refuses: nothing else. What the peer reads and writes on its own pipes stays as it is.
import { Socket } from 'node:net';

Socket.prototype.connect = function connect() {
  process.nextTick(() => this.destroy(Object.assign(new Error('no network'), { code: 'ENETUNREACH' })));
  return this;
};
