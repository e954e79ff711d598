// Owns: fsync for a peer that has none: preloaded, it makes `fs.promises.writeFile` sync before it closes.
// Refuses: to change anything else; the directory is not synced, which favours the peer.
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const { writeFile } = fs;

fs.writeFile = (path, data, options) =>
  writeFile(path, data, { ...(typeof options === 'string' ? { encoding: options } : options), flush: true });

syncBuiltinESMExports();
