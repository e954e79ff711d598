// Owns: the regular expressions of schemas, matched in time that grows only with the text.
// Refuses: look-around and back references, which would need another kind of engine.
import { RE2JS } from 're2js';

const MAX_LENGTH = 4_000;

/** Throws with what is wrong with the pattern. Where Ajv keeps patterns by their `toString()`, any two must differ. */
export function linearRegExp(pattern: string, flags: string): RegExp {
  if (pattern.length > MAX_LENGTH) throw new Error(`it is longer than ${MAX_LENGTH} characters`);
  const compiled = RE2JS.compile(
    RE2JS.translateRegExp(pattern.replaceAll(LONG_CLASS, shortClass)),
    flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0,
  );
  return {
    test: (text: string) => compiled.matcher(text).find(),
    toString: () => `re2:${flags}:${pattern}`,
    exec: () => null,
  } as unknown as RegExp;
}
linearRegExp.code = 'linearRegExp';

/** What is wrong with the pattern, in words; undefined where nothing is. */
export function whyNotLinear(pattern: string): string | undefined {
  try {
    linearRegExp(pattern, 'u');
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^error parsing regexp: /, '');
  }
}

/** ECMAScript's long names of character classes, which the engine knows by their short ones. */
const CLASSES: { readonly [name: string]: string } = {
  Letter: 'L',
  Lowercase_Letter: 'Ll',
  Uppercase_Letter: 'Lu',
  Mark: 'M',
  Number: 'N',
  Decimal_Number: 'Nd',
  digit: 'Nd',
  Punctuation: 'P',
  punct: 'P',
  Symbol: 'S',
  Separator: 'Z',
};
const LONG_CLASS = new RegExp(`\\\\([pP])\\{(${Object.keys(CLASSES).join('|')})\\}`, 'g');
const shortClass = (_: string, kind: string, name: string): string => `\\${kind}{${CLASSES[name]}}`;
