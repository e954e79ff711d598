// Owns: what the ignore files above a folder say, from the root down, rewritten as if one file at the root said it all.
// Refuses: links in place of ignore files, as git does, and files beyond measure.
import { lstatSync, readFileSync } from 'node:fs';

const MAX_BYTES = 1024 * 1024;

/** Without the folder's own file, which ripgrep reads itself. Undefined where there is nothing above. */
export function rulesAbove(root: string, folder: string): string | undefined {
  if (folder === '.') return undefined;
  const texts = [read(`${root}/.git/info/exclude`)];
  const names = folder.split('/');
  for (let depth = 0; depth < names.length; depth++) {
    const above = names.slice(0, depth).join('/');
    const text = read(`${root}/${above === '' ? '' : `${above}/`}.gitignore`);
    texts.push(above === '' ? text : atRoot(text, above));
  }
  const all = texts.filter((text) => text !== '').join('\n');
  return all === '' ? undefined : all;
}

function read(path: string): string {
  try {
    const stat = lstatSync(path);
    return stat.isFile() && stat.size <= MAX_BYTES ? readFileSync(path, 'utf8').replace(/^\ufeff/, '') : '';
  } catch {
    return '';
  }
}

/** A line with a slash before its end is about the file's own folder; any other about all below it. */
function atRoot(text: string, folder: string): string {
  const prefix = `/${folder.replaceAll(/[\\*?[\]! #]/g, '\\$&')}/`;
  return text
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const negated = line.startsWith('!');
      const body = negated ? line.slice(1) : line.replace(/^\\([!#])/, '$1');
      const anchored = body.slice(0, -1).includes('/');
      const rest = anchored ? body.replace(/^\//, '') : `**/${body}`;
      return `${negated ? '!' : ''}${prefix}${rest}`;
    })
    .join('\n');
}
