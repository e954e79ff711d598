// Owns: the code of a server: copied as it is when the server is opened, and what is shown in its place when it is started.
// Refuses: to keep a server from running because its code is too large to be copied: that is listed as not pinned.
import { statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import { isFailure } from '../../contract/errors.ts';
import { parseHttpUrl } from '../../contract/http.ts';
import { isWithin } from '../is-within.ts';
import type { CodeFolder } from './code-copies.ts';
import { findServerCode, openEnds, type ServerCommand } from './find-server-code.ts';
import { lockedFiles } from './locked-files.ts';
import { type NpxSite, parseNpx, takeNpx } from './npx-package.ts';
import type { TakenServer } from './taken-server.ts';

/** A program that is started here, or a service that is reached. */
export type ServerConfig = ServerCommand | { readonly url: string };

export async function takeServer(config: ServerConfig, site: NpxSite): Promise<TakenServer> {
  const { root, code } = site;
  if ('url' in config) {
    const unpinned = [{ what: parseHttpUrl(config.url).url.origin, why: 'a service that runs elsewhere' }];
    return { files: {}, unpinned, start: () => ({ copies: [] }) };
  }
  const npx = parseNpx(config.command);
  if (npx) {
    const taken = await takeNpx(npx, site);
    const shown = npx.args.filter((word) => isFile(resolve(root, config.cwd ?? '.', word)));
    const open = [...shown.map((what) => ({ what, why: 'it is shown as it is' })), ...openEnds(config, root)];
    return { ...taken, unpinned: [...taken.unpinned, ...open] };
  }
  const { folders, unpinned: found } = findServerCode(config, root);
  const unpinned = [...found];
  const files: Record<string, string> = {};
  const taken: { readonly folder: CodeFolder; readonly digest: string; readonly label: string }[] = [];
  for (const folder of folders) {
    const label = isWithin(folder.at, root) ? folder.at.slice(root.length + 1) : basename(folder.at);
    try {
      const tree = code.take(folder, label);
      taken.push({ folder, digest: tree.digest, label });
      const isFile = tree.files[0]?.path === '';
      Object.assign(files, isFile ? { [label]: tree.files[0]?.sha256 } : lockedFiles(tree, `${label}/`));
      for (const path of tree.outward)
        unpinned.push({ what: `${label}/${path}`, why: 'a link that leads out of its folder' });
    } catch (thrown) {
      if (!isFailure(thrown) || thrown.reason !== 'pack.invalid') throw thrown;
      unpinned.push({ what: label, why: thrown.message.replace(/^Cannot take the pack "[^"]*": /, '') });
    }
  }
  const rows = taken.map(({ label, digest: one }) => [label, one]).sort();
  return {
    ...(rows.length === 0 ? {} : { digest: digest('toolpack/v1', canonicalJson({ code: rows })) }),
    files,
    unpinned,
    start: () => ({
      parts: folders.map(({ at }) => at),
      copies: taken.map(({ folder, digest: one }) => ({
        at: folder.at,
        from: code.use(folder, one),
        ...(folder.live ? { live: folder.live.map((path) => join(folder.at, path)) } : {}),
      })),
    }),
  };
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
