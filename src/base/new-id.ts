// Owns: names for calls, requests, sessions and approvals that no two processes give twice.
// Refuses: secrets. These names are shown to everybody; tokens and keys come from node:crypto.

const ALPHABET = '0123456789abcdefghijklmnopqrstuv';
const LETTERS = 20;

/** `call_` and 100 random bits in 20 letters. The generator is seeded by the system for each process. */
export function newId(prefix: string): string {
  let id = `${prefix}_`;
  for (let i = 0; i < LETTERS; i += 5) {
    let bits = Math.floor(Math.random() * 2 ** 25);
    for (let k = 0; k < 5; k++) {
      id += ALPHABET[bits & 31];
      bits >>>= 5;
    }
  }
  return id;
}
