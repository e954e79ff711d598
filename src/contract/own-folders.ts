// Owns: where Haft keeps what is its user's on this machine, by the environment alone.
// Refuses: the disk.

/** `$XDG_CONFIG_HOME/haft`, or `~/.config/haft`: the key, credentials, trust, heads of audits. Undefined without a home. */
export function configFolder(env: Environment): string | undefined {
  return below(env.XDG_CONFIG_HOME || (env.HOME && `${env.HOME}/.config`));
}

/** `$XDG_CACHE_HOME/haft`, or `~/.cache/haft`: the command's compiled code, which is as good as the command. */
export function cacheFolder(env: Environment): string | undefined {
  return below(env.XDG_CACHE_HOME || (env.HOME && `${env.HOME}/.cache`));
}

type Environment = { readonly [name: string]: string | undefined };

const below = (home: string | undefined): string | undefined =>
  home?.startsWith('/') ? `${home.replace(/\/+$/, '')}/haft` : undefined;
