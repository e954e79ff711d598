// Owns: what an editor of a client's configuration does, and how it says where a text is not certain.
// Not here: files; an editor turns one text into another.
import type { Json } from '../../../contract/json.ts';
import type { ServerEntry } from './clients.ts';

export interface ConfigFormat {
  /** The entry of a server as data; undefined where there is none. */
  find(text: string, under: string, name: string): Json | undefined;
  /** The text with this entry: put behind what is there, or changed in place where it differs. */
  put(text: string, under: string, name: string, entry: ServerEntry): string;
  /** The text as it was before `put`; undefined where nothing but the entry was in it. */
  remove(text: string, under: string, name: string): string | undefined;
}

/** Thrown by editors: the text stays as it is. Told apart by its tag, since copies of a file have classes of their own. */
export interface Doubt {
  readonly doubt: true;
  readonly line: number;
  readonly message: string;
}

export const doubt = (text: string, offset: number, message: string): Doubt => ({
  doubt: true,
  line: text.slice(0, offset).split('\n').length,
  message,
});

export const isDoubt = (thrown: unknown): thrown is Doubt =>
  typeof thrown === 'object' && thrown !== null && 'doubt' in thrown;
