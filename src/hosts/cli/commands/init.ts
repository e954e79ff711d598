// Owns: `haft init`: looks at the folder and writes a haft.yaml for it.
// Refuses: to overwrite one that is there unless told to, and to trust what somebody else wrote. What it says is in ../init-policy.ts.
import { constants, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closest } from '../../../base/closest.ts';
import { sha256Hex } from '../../../base/digest.ts';
import { fail } from '../../../contract/errors.ts';
import { isLinkedPolicy, readPolicyText, replacePolicyFile } from '../../../loader/haft-yaml/apply-admit.ts';
import { findFolder } from '../../../loader/workspace.ts';
import { localPerson, recordManagement } from '../../../preset/record-management.ts';
import { diffPolicy, trustWritten } from '../../../preset/trust/trust-question.ts';
import type { Command } from '../command.ts';
import { describePolicy, renderPolicy, TEMPLATE_NAMES, TEMPLATES } from '../init-policy.ts';
import { type FoundKind, findProjects, PROJECT_KINDS } from '../init-projects.ts';
import { writeFailure } from '../named-path.ts';

export const command: Command = {
  summary: 'Write a haft.yaml for this folder',
  usage: '',
  description:
    'Looks for package.json, Cargo.toml, pyproject.toml, go.mod, Makefile and the like, here and up to three folders down, and lets the usual ' +
    'commands of what it finds run. Asks nothing, and says what it allowed and what it did not. Templates: ' +
    `${Object.entries(TEMPLATES)
      .map(([name, { help }]) => `${name} (${help})`)
      .join('; ')}; or one kind of project alone: ${PROJECT_KINDS.map(({ id }) => id).join(', ')}.`,
  options: {
    template: { type: 'string', value: 'NAME', help: 'write this one (default: auto; the names are above)' },
    force: { type: 'boolean', help: 'replace the haft.yaml that is there, and keep it as haft.yaml.bak' },
  },
  examples: ['haft init', 'haft init --template read-only', 'haft init --force --workspace ~/project'],
  positionals: [0, 0],
  async run({ flags, io, json }) {
    const folder = (flags.workspace as string | undefined) ?? process.cwd();
    const template = (flags.template as string | undefined) ?? 'auto';
    const kind = PROJECT_KINDS.find(({ id }) => id === template);
    if (!kind && !Object.hasOwn(TEMPLATES, template)) throw unknownTemplate(template);
    const found = findProjects(folder);
    const kinds: readonly FoundKind[] = kind ? [{ kind, folders: [''] }] : found.kinds;
    const style = TEMPLATES[template]?.style ?? 'usual';
    const text = renderPolicy(kinds, style);
    const backup = await write(folder, text, flags.force === true);
    const workspace = findFolder(folder);
    const sha256 = sha256Hex(text);
    // Whoever replaces a policy without a person at a terminal widens nothing by it: haft trust asks.
    const trusted =
      backup === undefined || io.ask
        ? await trustWritten(workspace, sha256)
        : (await diffPolicy(workspace)).trusted;
    const facts = { sha256, trusted, template, ...(backup === undefined ? {} : { backup }) };
    await recordManagement(workspace, { action: 'haft init', by: localPerson(), facts });
    if (!trusted) io.err('haft: the new haft.yaml is not trusted yet; run haft trust\n');
    if (found.isPartial && !kind)
      io.err(
        'haft: the folder is large, and was looked at in part; add what is missing, or name a --template\n',
      );
    const names = kinds.map((one) => one.kind.name);
    if (json) {
      const document = { written: 'haft.yaml', template, kinds: names, trusted };
      io.out(`${JSON.stringify(backup === undefined ? document : { ...document, backup })}\n`);
      return 0;
    }
    const shown = style === 'read-only' ? 'read-only' : names.join(', ') || 'no known kind of project';
    io.out(
      `Wrote haft.yaml (${shown}).${backup === undefined ? '' : ` The one before is ${backup}.`}\n` +
        `${describePolicy({ ...found, kinds }, style)}Try: haft call fs_list\n`,
    );
    return 0;
  },
};

function unknownTemplate(name: string): Error {
  const near = closest(name, TEMPLATE_NAMES);
  const hint = near ? `did you mean "${near}"?` : `there is ${TEMPLATE_NAMES.join(', ')}`;
  return fail('usage', `Cannot use template "${name.slice(0, 80)}": there is none of that name; ${hint}`);
}

/** Answers the name under which a policy that was there is kept. */
async function write(folder: string, text: string, force: boolean): Promise<string | undefined> {
  const file = join(folder, 'haft.yaml');
  try {
    writeFileSync(file, text, { flag: 'wx' });
    return undefined;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EROFS')
      throw fail('path.denied_by_os', `Cannot write haft.yaml: the folder ${folder} is not writable`);
    if (code !== 'EEXIST') throw writeFailure(thrown, file);
  }
  if (!force)
    throw fail(
      'path.exists',
      'Cannot write haft.yaml: there is one already; --force replaces it and keeps a copy',
    );
  if (isLinkedPolicy(folder))
    throw fail('path.exists', 'Cannot replace haft.yaml: it is a link to another place; remove it first');
  readPolicyText(folder); // throws unless it is a regular file
  const backup = keep(folder, file);
  await replacePolicyFile(findFolder(folder), text, async () => {});
  return backup;
}

/** The first name that is free. */
function keep(folder: string, file: string): string {
  for (let at = 0; ; at++) {
    const name = at === 0 ? 'haft.yaml.bak' : `haft.yaml.bak.${at}`;
    try {
      copyFileSync(file, join(folder, name), constants.COPYFILE_EXCL);
      return name;
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw writeFailure(thrown, join(folder, name));
    }
  }
}
