// Owns: an answer of a toolpack's own code as JSON, read once, by what was there before that code was loaded.
// Refuses: whatever would not be the same after JSON, by its place.

/** One thing in a value that JSON cannot say. */
export interface Unsafe {
  readonly path: string;
  readonly fact: string;
}

export interface Encoded {
  readonly text?: string;
  readonly unsafe?: Unsafe;
}

/** Shipped to the toolpack's process as its own text: it may refer to nothing outside of itself. */
export function createEncoder(): (value: unknown) => Encoded {
  // A `toJSON`, an iterator or a method that the pack put in their place is never asked.
  const { stringify } = JSON;
  const { getPrototypeOf, getOwnPropertySymbols, getOwnPropertyDescriptor, keys, hasOwn } = Object;
  const { isArray } = Array;
  const { isFinite: isJsonNumber } = Number;
  const [ofObjects, ofArrays] = [Object.prototype, Array.prototype];

  interface Above {
    readonly one: object;
    readonly above: Above | undefined;
    readonly depth: number;
  }
  const within = (one: object, above: Above | undefined): boolean => {
    for (let at = above; at; at = at.above) if (at.one === one) return true;
    return false;
  };
  const pointer = (key: string): string => {
    let text = '/';
    for (let n = 0; n < key.length; n++) {
      const letter = key[n] as string;
      text += letter === '~' ? '~0' : letter === '/' ? '~1' : letter;
    }
    return text;
  };

  const walk = (one: unknown, path: string, above: Above | undefined): Encoded => {
    const no = (fact: string): Encoded => ({ unsafe: { path, fact } });
    if (one === null || typeof one === 'string' || typeof one === 'boolean') return { text: stringify(one) };
    if (typeof one === 'number') return isJsonNumber(one) ? { text: stringify(one) } : no(`it is ${one}`);
    if (typeof one !== 'object') return no(one === undefined ? 'it is undefined' : `it is a ${typeof one}`);
    if (within(one, above)) return no('it is a cycle');
    const depth = (above?.depth ?? 0) + 1;
    if (depth > 65) return no('it lies more than 64 levels deep');
    const proto = getPrototypeOf(one) as unknown;
    const isList = isArray(one);
    if (isList ? proto !== ofArrays : proto !== ofObjects && proto !== null)
      return no(`it is not a plain ${isList ? 'array' : 'object'}`);
    if (getOwnPropertySymbols(one).length > 0) return no('it has a symbol as a key');
    const names = keys(one);
    const count = isList ? one.length : names.length;
    if (isList && names.length > count) return no('it is an array with extra properties');
    let text = '';
    for (let n = 0; n < count; n++) {
      const key = isList ? `${n}` : (names[n] as string);
      const at = path + pointer(key);
      const property = getOwnPropertyDescriptor(one, key);
      if (!property) return { unsafe: { path: at, fact: 'it is a hole in an array' } };
      if (!hasOwn(property, 'value')) return { unsafe: { path: at, fact: 'it is an accessor' } };
      const below = walk(property.value, at, { one, above, depth });
      if (below.unsafe) return below;
      if (n > 0) text += ',';
      text += isList ? below.text : `${stringify(key)}:${below.text}`;
    }
    if (isList && names.length !== count) return no('it is an array with extra properties');
    return { text: isList ? `[${text}]` : `{${text}}` };
  };
  return (value) => walk(value, '', undefined);
}
