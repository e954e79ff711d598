// Owns: an answer whose line is longer than may be held: kept elsewhere while it comes, for the request that it answers.
// Refuses: to guess: a line that answers nobody ends the program, since whoever it was for would wait in vain.
import type { AnswerSpill } from '../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../contract/errors.ts';
import type { LineProgramEvents } from './line-program.ts';
import { idOfEnds } from './line-reader.ts';
import type { Requests } from './requests.ts';

export interface OversizedOptions<Answer, Notice> {
  /** For messages. */
  readonly name: string;
  readonly limit: number;
  readonly requests: Requests<Answer, Notice>;
  /** Ends the program. */
  stop(why: string): void;
}

export function oversizedLines<Answer, Notice>({
  name,
  limit,
  requests,
  stop,
}: OversizedOptions<Answer, Notice>): Required<Pick<LineProgramEvents, 'oversize' | 'overrun'>> {
  /** Of the line that comes now. All calls of one program have the same secrets, so that any of them may keep it. */
  let spill: AnswerSpill | undefined;
  let refused: unknown;
  const lost = (bytes: number): Failure => {
    const message = `Cannot take the answer of "${name}": it is ${bytes} bytes, over the limit of ${limit}`;
    return fail('output.too_large', message, { bytes, limit });
  };
  return {
    overrun(_length, head, piece) {
      if (refused !== undefined) return undefined;
      try {
        spill ??= requests.spill(idOfEnds(head, '') ?? requests.only);
        return spill?.write(piece);
      } catch (thrown) {
        refused = thrown;
        void spill?.discard();
        spill = undefined;
        return undefined;
      }
    },
    oversize(length, head, tail) {
      const id = idOfEnds(head, tail) ?? requests.only;
      const [kept, why] = [spill, refused];
      spill = undefined;
      refused = undefined;
      const settle = (failure: Failure) => {
        if (!requests.fail(id, failure))
          stop(
            `it was ended, because it wrote a line of ${length} bytes, over the limit of ${limit}, to nobody`,
          );
      };
      if (!kept) return settle(isFailure(why) ? why : lost(length));
      kept.fail(limit).then(settle, () => settle(lost(length)));
    },
  };
}
