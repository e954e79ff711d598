// Owns: the type of undici's pool at the path that loads it alone: a third of the time of loading all of undici.
// Refuses: the request(), stream() and fetch() that only the package's index adds.
declare module 'undici/lib/dispatcher/pool.js' {
  import type { Pool } from 'undici';

  const pool: new (url: string, options?: Pool.Options) => Pool;
  export default pool;
}
