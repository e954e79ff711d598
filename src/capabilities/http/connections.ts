// Owns: connections that are kept for the next request, each bound to the host and the checked addresses it was opened for.
// Refuses: to share one between two requests at a time, or between two decisions: other addresses are another key.
import type { Socket } from 'node:net';
import type { Client } from 'undici';
import { waitTurn } from '../../base/turns.ts';
import { type Dialled, dial, type Place } from './dial.ts';

/** Undici's client: one connection, opened when a request needs it and again when it was lost. */
export type ClientMaker = new (url: string, options?: Client.Options) => Client;

export interface ConnectionsOptions {
  readonly Client: ClientMaker;
  readonly extraCa?: readonly string[] | undefined;
  /** At once to one key; further requests wait. */
  readonly maxPerKey: number;
  readonly maxIdle: number;
}

/** Held by one request. */
export interface Connection {
  readonly client: Client;
  /** How it was last opened; undefined until it is. */
  dialled: Dialled | undefined;
  /** For the connection that the next request may have to open. */
  connectTimeoutMs: number;
  /** Gives it back, to be kept where `reusable`. */
  release(reusable: boolean): void;
  /** Ends it at once, also while it is being opened. The request under way fails with `reason`. */
  destroy(reason: Error): void;
}

export interface Connections {
  /** `maxIdleMs`: one that has been idle for longer is not taken; the other side may be about to close it. */
  acquire(place: Place, maxIdleMs: number, signal: AbortSignal): Promise<Connection>;
  close(): Promise<void>;
}

interface Kept {
  readonly connection: Connection;
  readonly since: number;
}

interface Shelf {
  open: number;
  readonly idle: Kept[];
  readonly waiting: (() => void)[];
}

const MAX_HEADER_BYTES = 64 * 1024;
const KEEP_ALIVE_MS = 4_000;

export function createConnections(options: ConnectionsOptions): Connections {
  const shelves = new Map<string, Shelf>();
  const all = new Set<Client>();
  let idleCount = 0;

  const shelfOf = (key: string): Shelf => {
    let shelf = shelves.get(key);
    if (!shelf) {
      shelf = { open: 0, idle: [], waiting: [] };
      shelves.set(key, shelf);
    }
    return shelf;
  };
  const takeIdle = (shelf: Shelf, at: number): Connection => {
    idleCount -= 1;
    return shelf.idle.splice(at, 1)[0]!.connection;
  };
  const drop = (key: string, client: Client): void => {
    if (!all.delete(client)) return;
    const shelf = shelfOf(key);
    shelf.open -= 1;
    shelf.waiting.shift()?.();
    if (shelf.open === 0 && shelf.waiting.length === 0) shelves.delete(key);
  };
  const keep = (key: string, connection: Connection): void => {
    const shelf = shelfOf(key);
    shelf.idle.push({ connection, since: performance.now() });
    idleCount += 1;
    shelf.waiting.shift()?.();
    if (idleCount <= options.maxIdle) return;
    for (const other of shelves.values()) {
      if (other.idle.length > 0) {
        takeIdle(other, 0).destroy(new Error('too many idle connections'));
        return;
      }
    }
  };

  const open = ({ key, target, addresses }: Place): Connection => {
    let opening: Socket | undefined;
    let broken = false;
    const client = new options.Client(`${target.scheme}://${target.host}:${target.port}`, {
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect(_, answer) {
        const spec = {
          ...target,
          secure: target.scheme === 'https',
          addresses,
          timeoutMs: connection.connectTimeoutMs,
          ...(options.extraCa ? { extraCa: options.extraCa } : {}),
        };
        opening = dial(spec, (error, socket, dialled) => {
          opening = undefined;
          connection.dialled = dialled;
          if (error) answer(error, null);
          else answer(null, socket);
        });
      },
    });
    all.add(client);
    const connection: Connection = {
      client,
      dialled: undefined,
      connectTimeoutMs: 0,
      release(reusable) {
        if (reusable && !broken && all.has(client)) keep(key, connection);
        else connection.destroy(new Error('not to be kept'));
      },
      destroy(reason) {
        opening?.destroy(reason);
        drop(key, client);
        client.destroy(reason).catch(() => {});
      },
    };
    client.on('disconnect', () => {
      broken = true;
      const shelf = shelves.get(key);
      const at = shelf ? shelf.idle.findIndex((kept) => kept.connection === connection) : -1;
      if (shelf && at >= 0) takeIdle(shelf, at).destroy(new Error('closed by the other side'));
    });
    return connection;
  };

  return {
    async acquire(place, maxIdleMs, signal) {
      const { key } = place;
      for (;;) {
        // Asked for anew each time: a shelf goes with its last connection.
        const shelf = shelfOf(key);
        const newest = shelf.idle.at(-1);
        if (newest) {
          const connection = takeIdle(shelf, shelf.idle.length - 1);
          if (performance.now() - newest.since <= maxIdleMs) return connection;
          connection.destroy(new Error('idle for too long'));
        } else if (shelf.open < options.maxPerKey) {
          shelf.open += 1;
          return open(place);
        } else await waitTurn(shelf.waiting, signal);
      }
    },
    async close() {
      const reason = new Error('the client was closed');
      await Promise.all([...all].map((client) => client.destroy(reason).catch(() => {})));
      all.clear();
      shelves.clear();
      idleCount = 0;
    },
  };
}
