// Owns: `haft toolpack new`: a toolpack that works, named in haft.yaml, with a call and a test, to be changed into another one.
// Refuses: to write over anything, and a name that a tool or a pack has.
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fail } from '../../../contract/errors.ts';
import { isWithin } from '../../../loader/is-within.ts';
import { isFrozenRun } from '../../../preset/open-host.ts';
import { prepareFolder } from '../../../preset/packs/register-folder.ts';
import type { Command, Io } from '../command.ts';
import { linkOwnPackage } from '../link-own-package.ts';
import { writeFailure } from '../named-path.ts';
import { SCAFFOLD_ARGS, SCAFFOLD_IMAGE, scaffoldFiles } from '../toolpack-scaffold.ts';

export const command: Command = {
  summary: 'Create a toolpack to start from',
  usage: 'NAME',
  description:
    'Makes the folder NAME here: a tool that counts words, a call with its expected result, and a test. Adds it to packs: of haft.yaml, which stays ' +
    'trusted with it, so that it can be called at once. Without an engine it runs in the sandbox of this machine, without an image.',
  examples: ['haft toolpack new my_tool', `haft call my_tool '${JSON.stringify(SCAFFOLD_ARGS)}'`],
  positionals: [1, 1],
  async run({ positionals, workspace, flags, io, json }) {
    const name = positionals[0]!;
    if (!/^[a-z][a-z0-9_]{0,63}$/.test(name))
      throw fail(
        'usage',
        `Cannot make the toolpack "${name.slice(0, 80)}": a name is of small letters, digits and _, and begins with a letter`,
      );
    const folder = join(realpathSync.native('.'), name);
    if (!isWithin(folder, workspace))
      throw fail(
        'usage',
        `Cannot make the toolpack "${name}" here: this folder is not in the workspace; go there first`,
      );
    if (existsSync(folder)) throw taken(name);
    const path = relative(workspace, folder);
    const pack = await prepareFolder(workspace, { name, path, frozen: isFrozenRun(flags) });
    const files = scaffoldFiles(name);
    write(folder, name, files);
    const linked = linkOwnPackage(folder);
    const trusted = await pack.register();
    if (!trusted) io.err('haft: haft.yaml could not be trusted here; run haft trust\n');
    if (!linked)
      io.err(
        `haft: npm test in ${name} needs haft: npm install --save-dev haft (haft toolpack check does not)\n`,
      );
    if (json) io.out(`${JSON.stringify({ folder: name, files: Object.keys(files), pack: path, trusted })}\n`);
    else tell(io, name, Object.keys(files), existsSync(join(workspace, 'haft.lock')));
    return 0;
  },
};

const taken = (name: string) =>
  fail('path.exists', `Cannot make the toolpack "${name}": something of that name is here already`);

function write(folder: string, name: string, files: Readonly<Record<string, string>>): void {
  try {
    mkdirSync(folder);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text, { flag: 'wx' });
    }
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw taken(name);
    if (code === 'EACCES' || code === 'EROFS')
      throw fail('path.denied_by_os', `Cannot make the toolpack "${name}": the folder is not writable`);
    throw writeFailure(thrown, name);
  }
}

function tell(io: Io, name: string, files: readonly string[], isLocked: boolean): void {
  const call = `haft call ${name} '${JSON.stringify(SCAFFOLD_ARGS)}'`;
  io.out(
    `${files.map((path) => `${name}/${path}\n`).join('')}haft.yaml now names the pack.

Call it:    ${call}
Change it:  edit ${name}/toolpack.ts, ${isLocked ? 'run haft tools lock --accept, ' : ''}then call it again
Check it:   haft toolpack check ${name}
On Docker:  docker pull ${SCAFFOLD_IMAGE}, put this line into haft.yaml, run haft trust, and add --backend docker to the call
            runs: { backends: [docker], images: ["${SCAFFOLD_IMAGE}"] }
`,
  );
}
