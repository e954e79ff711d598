// Owns: what is too long for an answer: kept as an artifact, also while it still comes, so that the rest can be read.
// Refuses: to hold it in memory, to keep more than this host keeps of one answer, and to let a secret of the call into it.
import type { Redactor } from '../base/redact/create-redactor.ts';
import type { AnswerSpill } from '../contract/adapter.ts';
import { type Failure, fail } from '../contract/errors.ts';
import type { ObjectId, ObjectStore } from '../contract/object-store.ts';
import type { RuntimeParts } from '../contract/runtime.ts';

type Parts = Pick<RuntimeParts, 'objects' | 'store'>;

export function createSpills({ objects, store }: Parts): Pick<ObjectStore, 'put' | 'putStream'> {
  const register = (id: ObjectId, size: number) =>
    store.artifacts.register({ id, kind: 'file', size, files: 1 });
  return {
    async put(bytes) {
      const id = await objects.put(bytes);
      await register(id, bytes.length);
      return id;
    },
    async putStream(chunks) {
      const stored = await objects.putStream(chunks);
      await register(stored.id, stored.size);
      return stored;
    },
  };
}

export interface SpillSite {
  /** For messages. */
  readonly tool: string;
  readonly spills: Pick<ObjectStore, 'putStream'>;
  readonly redactor: Redactor | undefined;
  /** More is not kept. */
  readonly maxBytes: number;
}

export function createAnswerSpill({ tool, spills, redactor, maxBytes }: SpillSite): AnswerSpill {
  const redaction = redactor?.stream();
  const pieces = createQueue();
  const stored = spills.putStream(pieces.taken);
  const gone = stored.then(() => {});
  gone.catch(() => {});
  let size = 0;

  return {
    write(chunk) {
      size += chunk.length;
      if (size > maxBytes) throw endless(tool, maxBytes);
      return Promise.race([pieces.give(redaction ? redaction.push(chunk) : chunk), gone]);
    },
    async fail(limit) {
      if (redaction) void pieces.give(redaction.end());
      pieces.end();
      const { id, size: bytes } = await stored;
      const message = `Cannot return the answer of "${tool}" inline: it is ${bytes} bytes, over the limit of ${limit}; the whole answer is kept as ${id}`;
      return fail('output.too_large', message, { bytes, limit, artifact: id });
    },
    async discard() {
      pieces.end(new Error('discarded'));
      await stored.catch(() => {});
    },
  };
}

const endless = (tool: string, limit: number): Failure =>
  fail(
    'output.too_large',
    `Cannot take the answer of "${tool}": it is over ${limit} bytes, which is more than is kept of one`,
    { limit },
  );

interface PieceQueue {
  readonly taken: AsyncIterable<Uint8Array>;
  /** Resolves once it was taken. */
  give(piece: Uint8Array): Promise<void>;
  /** Whoever takes is told of the end, or of what went wrong. */
  end(fault?: Error): void;
}

/** An async queue: one side gives, the other takes, each at its own pace. */
function createQueue(): PieceQueue {
  const waiting: { readonly piece: Uint8Array; taken(): void }[] = [];
  let ended: { readonly fault?: Error } | undefined;
  let wake = () => {};
  const give = (piece: Uint8Array) =>
    new Promise<void>((taken) => {
      waiting.push({ piece, taken });
      wake();
    });
  async function* take(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (ended?.fault) throw ended.fault;
      const next = waiting.shift();
      if (next) {
        yield next.piece;
        next.taken();
      } else if (ended) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  return {
    taken: take(),
    give,
    end(fault) {
      ended = fault ? { fault } : {};
      wake();
    },
  };
}
