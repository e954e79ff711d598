// Owns: which names say that their value is a secret: of JSON members, headers, variables, query parameters.
// Refuses: to look at values.

/**
 * True for `authorization`, `X-Api-Key`, `DB_PASSWORD`, `clientSecret`; false for `max_tokens`, `next_page_token`,
 * `password_policy`. Judged by the words of the name, whatever their case and separators.
 */
export function isSecretKey(name: string): boolean {
  if (name.length > MAX_NAME) return false;
  const words = wordsOf(name);
  const last = words.at(-1);
  if (last === undefined) return false;
  const joined = words.join('');
  if (HARMLESS.has(joined)) return false;
  if (WHOLE.has(joined) || LAST_WORD.has(last)) return true;
  return LAST_PAIR.has((words.at(-2) ?? '') + last);
}

const MAX_NAME = 128;

function wordsOf(name: string): string[] {
  // Beyond ASCII there are capitals of ordinary letters, such as the sign of kelvin.
  const spaced = /[A-Z\u0080-\uffff]/.test(name)
    ? name
        .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
        .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
        .toLowerCase()
    : name;
  return spaced.split(/[^a-z0-9]+/).filter(Boolean);
}

const LAST_WORD = new Set([
  'apikey',
  'apitoken',
  'accesstoken',
  'authtoken',
  'authorization',
  'authkey',
  'bearer',
  'clientsecret',
  'cookie',
  'credential',
  'credentials',
  'passphrase',
  'passwd',
  'password',
  'privatekey',
  'pwd',
  'refreshtoken',
  'secret',
  'secretkey',
  'secrets',
  'sessiontoken',
  'signature',
  'token',
]);

/** The last two words together. */
const LAST_PAIR = new Set([
  'accesskey',
  'accountkey',
  'apikey',
  'authkey',
  'connectionstring',
  'encryptionkey',
  'masterkey',
  'privatekey',
  'secretkey',
  'servicekey',
  'sessionkey',
  'setcookie',
  'sharedkey',
  'signingkey',
]);

/** Secret only where they are the whole name. */
const WHOLE = new Set([
  'auth',
  'jwt',
  'pass',
  'pat',
  'pgpassword',
  'sessionid',
  'sid',
  'sig',
  'xamzsecuritytoken',
]);

/** Named like secrets, and none: places in a list, marks of a form. */
const HARMLESS = new Set([
  'cancellationtoken',
  'continuationtoken',
  'cursortoken',
  'nextpagetoken',
  'nexttoken',
  'pagetoken',
  'progresstoken',
  'synctoken',
]);
