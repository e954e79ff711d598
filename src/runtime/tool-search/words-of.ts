// Owns: the words of a text, in the form in which they are compared.
// Refuses: grammar; it takes endings off, and the same ones from texts and from queries.

/** Lower case, without accents and endings; `createPullRequest` and `create_pull_request` give the same words. */
export type WordReader = (text: string) => string[];

/** Remembers the forms of words that it met: tools of one pack share most of theirs. */
export function createWordReader(): WordReader {
  const forms = new Map<string, string>();
  return (text) => {
    const whole = text.length > LONGEST_TEXT ? text.slice(0, LONGEST_TEXT) : text;
    const ascii = ASCII.test(whole);
    const found = (ascii ? whole : withoutAccents(whole)).match(ascii ? ASCII_PARTS : PARTS) ?? [];
    const words: string[] = [];
    for (const part of found) {
      let form = forms.get(part);
      if (form === undefined) {
        form = formOf(part.toLowerCase());
        if (forms.size >= MOST_FORMS) forms.clear();
        forms.set(part, form);
      }
      if (form !== '') words.push(form);
    }
    return words;
  };
}

const LONGEST_TEXT = 8_192;
const LONGEST_WORD = 40;
const MOST_FORMS = 50_000;

/** `parseHTTPUrl2` is parse, HTTP, Url, 2. Letters without case stay together. */
const ASCII_PARTS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
const PARTS = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+|[\p{Lt}\p{Lm}\p{Lo}]+/gu;
const ASCII = /^[\0-\x7f]*$/;

const withoutAccents = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize();

const formOf = (word: string): string => (EMPTY_WORDS.has(word) ? '' : stem(word.slice(0, LONGEST_WORD)));

const EMPTY_WORDS = new Set(
  'a an and are as at be by can do does for from get how i if in into is it its me my of on or please that the their this to use using want what when where which will with you your'.split(
    ' ',
  ),
);

/** Rough, and the same for both sides: that is all that finding needs. */
export function stem(word: string): string {
  if (word.length <= 3) return word;
  const single = withoutPlural(word);
  const ending = /(ing|ed)$/.exec(single);
  let root = single;
  if (ending && single.length - ending[0].length >= 4) {
    root = single.slice(0, ending.index);
    if (/([bdgmnprt])\1$/.test(root)) root = root.slice(0, -1);
  }
  return root.length >= 5 && root.endsWith('e') ? root.slice(0, -1) : root;
}

function withoutPlural(word: string): string {
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  return /[^suix]s$/.test(word) ? word.slice(0, -1) : word;
}
