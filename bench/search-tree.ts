// Owns: a repository to search in: 20,000 source files, 250 MB, and words in it that are rare or common by count.
// Refuses: chance: the same text every time.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const SEARCH_TREE = {
  files: 20_000,
  fileBytes: 12_500,
  folders: 200,
  rare: 20,
  common: 100_000,
} as const;

const WORDS =
  'export const value compute part depth return function import from async await string number boolean interface readonly class private result error handle path buffer stream token index count total'.split(
    ' ',
  );

/** Twenty files hold `rareNeedle`; 100,000 lines hold `commonNeedle`, five in each file. */
export function makeSearchTree(workspace: string): void {
  const { files, folders, rare, common } = SEARCH_TREE;
  // What makes it a repository, for ripgrep: ignore rules hold only in one.
  mkdirSync(join(workspace, '.git'));
  writeFileSync(join(workspace, '.gitignore'), 'build/\n*.log\n/haft.yaml\n.gitignore\n');
  const random = generator();
  for (let folder = 0; folder < folders; folder++) {
    const path = join(workspace, `area-${folder % 10}`, `part-${folder % 40}`, `unit-${folder}`);
    mkdirSync(path, { recursive: true });
    for (let i = 0; i < files / folders; i++) {
      const isRare = (folder * (files / folders) + i) % (files / rare) === 17;
      writeFileSync(
        join(path, i === 50 ? `check-${i}.spec.ts` : `module-${i}.ts`),
        fileText(random, isRare, common / files),
      );
    }
  }
}

function fileText(random: () => number, isRare: boolean, common: number): string {
  let text = '';
  for (let line = 0; text.length < SEARCH_TREE.fileBytes; line++) {
    text += '  '.repeat(line % 4);
    for (let words = 4 + Math.floor(random() * 8); words > 0; words--) {
      text += `${WORDS[Math.floor(random() * WORDS.length)]} `;
    }
    text += line % 20 === 7 && line < common * 20 ? 'commonNeedle();\n' : '\n';
  }
  return isRare ? `${text}const rareNeedle = 42;\n` : text;
}

function generator(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x7fff_ffff;
  };
}
