// Owns: a difference as a person reads it before accepting it.
// Refuses: to let a text hide what it holds: what cannot be seen is written as an escape.
import type { Json } from '../../contract/json.ts';
import type { Drift, DriftState, FieldChange } from '../../contract/lock.ts';
import { isCodeUnpinned } from './compare-lock.ts';

const MARKS: { readonly [S in DriftState]: readonly [mark: string, said: string] } = {
  changed: ['~', 'changed'],
  added: ['+', 'new in a pack that is locked'],
  removed: ['-', 'gone'],
  unlocked: ['+', 'not locked yet'],
};

/** `~ everything.echo changed` and its fields below, old and new. */
export function describeDrift(drift: Drift): string {
  const { pack, tool, state, changes } = drift;
  const [mark, usual] = MARKS[state];
  const said = isCodeUnpinned(drift) ? 'haft.lock does not hold its code yet' : usual;
  const name = tool === undefined ? `pack ${visible(pack)}` : visible(tool);
  return [`${mark} ${name}: ${said}`, ...changes.flatMap(describeChange)].join('\n');
}

function describeChange({ field, before, after }: FieldChange): string[] {
  return [`    ${visible(field)}`, ...valueLines('-', before), ...valueLines('+', after)];
}

function valueLines(mark: string, value: Json | undefined): string[] {
  if (value === undefined) return [];
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.split('\n').map((line) => `      ${mark} ${visible(line)}`);
}

/** Control and format characters, zero-width ones, tags, private use: all that a reader cannot see. */
function visible(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u00ad\u115f\u1160\u3164\uffa0]|[\ufe00-\ufe0f]/gu,
    (one) => {
      return `\\u{${one.codePointAt(0)!.toString(16)}}`;
    },
  );
}
