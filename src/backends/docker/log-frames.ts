// Owns: taking an engine's log apart: frames of eight bytes and a part of one stream, cut anywhere by the socket.
// Refuses: to keep more than one frame's head; what is in a frame is handed on as it comes.

export type LogStream = 'stdout' | 'stderr';

/** Give it the body of a `logs` request, chunk by chunk. */
export function logFrames(onPart: (stream: LogStream, part: Buffer) => void): (chunk: Buffer) => void {
  let head = Buffer.alloc(0);
  let stream: LogStream = 'stdout';
  let left = 0;
  return (chunk) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (left === 0) {
        const missing = HEAD_BYTES - head.length;
        head = Buffer.concat([head, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (head.length < HEAD_BYTES) return;
        stream = head[0] === STDERR ? 'stderr' : 'stdout';
        left = head.readUInt32BE(4);
        head = Buffer.alloc(0);
        continue;
      }
      const part = rest.subarray(0, left);
      rest = rest.subarray(part.length);
      left -= part.length;
      onPart(stream, part);
    }
  };
}

const HEAD_BYTES = 8;
const STDERR = 2;
