// Owns: the type of undici's client at the path that loads it alone: a third of the time of loading all of undici.
// Refuses: the request(), stream() and fetch() that only the package's index adds.
declare module 'undici/lib/dispatcher/client.js' {
  import type { Client } from 'undici';

  const client: new (url: string, options?: Client.Options) => Client;
  export default client;
}
