// Owns: what every engine must find and refuse, as tables, and the workspace that they are about.
// Refuses: to know an engine.
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SearchQuery } from '../../contract/search.ts';
import type { Arena } from './arena-for-tests.ts';

type Row = readonly [what: string, query: Partial<SearchQuery>, found: readonly string[]];

/** What is in src, as the tests write it: `file:line:col snippet`. */
export const SRC = [
  'src/a-b.rs:1:1 hit',
  'src/a.rs:1:1 hit one',
  'src/a.rs:2:6 fn   hit() {} // hit',
  'src/a.rs:4:4 ü hit',
  'src/a/deep.rs:1:1 hit deep',
  'src/b.ts:1:1 hit ts',
].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

/** Fills a workspace with everything that is odd. */
export function fill(arena: Arena): void {
  const files: Record<string, string | Uint8Array> = {
    'src/a.rs': 'hit one\nfn   hit() {} // hit\nnothing\nü hit\n',
    'src/a/deep.rs': 'hit deep\n',
    'src/a-b.rs': 'hit\n',
    'src/b.ts': 'hit ts\nHIT upper\n',
    'src/.hidden/x.rs': 'hit hidden\n',
    '.env': 'hit env\n',
    '.gitignore': 'target/\n*.log\n/only-here\n!keep.log\n',
    '.git/config': 'hit git\n',
    '.git/info/exclude': 'excluded.txt\n',
    '.haft/haft.db': 'hit haft\n',
    'sub/.git/config': 'hit git\n',
    'src/.haft-tmp-1-2-3-4': 'hit temp\n',
    'target/out.rs': 'hit target\n',
    'pkg/.gitignore': '/gen\ndist\n!*.special.log\n[x].txt\n',
    'pkg/src/gen/a.txt': 'hit not ignored\n',
    'pkg/gen/a.txt': 'hit ignored\n',
    'pkg/src/dist/a.txt': 'hit ignored\n',
    'pkg/src/x.txt': 'hit ignored\n',
    'pkg/src/y.special.log': 'hit special\n',
    'pkg/src/z.log': 'hit ignored\n',
    'pkg/src/only-here': 'hit deeper\n',
    'only-here': 'hit ignored\n',
    'excluded.txt': 'hit ignored\n',
    'lib/node_modules/x/index.js': 'hit vendored\n',
    'lib/vendor/y.go': 'hit vendored\n',
    'lib/vendor.go': 'hit own\n',
    'around.txt': 'one\nhit two\nhit three\nfour\nfive\nsix\nhit seven',
    'multi.txt': 'a1\nb1\na2\nb2\nxx\na3 a3b\nb3 a4\nb4\n',
    'binary/early.bin': 'hit\n\0\nhit\n',
    'binary/late.bin': `hit early\n${'filler\n'.repeat(30_000)}\0\nhit late\n`,
    'odd/crlf.txt': 'x hit\r\nhit\r\n\r\nend',
    'odd/bom.txt': '\ufeffhit bom\n',
    'odd/utf16le.txt': Buffer.from('\ufeffü hit\nhit two\n', 'utf16le'),
    'odd/utf16be.txt': Buffer.from('\ufeffhit be\n', 'utf16le').swap16(),
    'odd/latin1.txt': Buffer.concat([Buffer.from('caf\xe9 hit\n', 'latin1'), Buffer.from('hit ü\n')]),
    'odd/long.txt': `${'ü'.repeat(1500)}hit${'ü'.repeat(1500)}\n${'ü'.repeat(1500)}hit\n${'y'.repeat(200_000)}hit\n`,
    'odd/empty.txt': '',
    'odd/no-end.txt': 'hit',
    'odd/dashes.txt': '--hit -e\n-- hit\n',
    'odd/quotes.txt': `it's "hit" \`$(hit)\` \\hit\n`,
    'names/line\nbreak.txt': 'hit\n',
    'names/\n1:1:x\n.txt': 'hit\n',
    'names/-dash.txt': 'hit\n',
    'names/a: WARNING: stopped searching binary file after match (found "\\0")\nb.txt': 'hit\n',
    'names/[x]{y}.txt': 'hit\n',
    'names/ü.txt': 'hit\n',
    'names/\u{1f600}.txt': 'hit\n',
    'names/\uff5e.txt': 'hit\n',
    'types/Makefile': 'hit\n',
    'types/x.mk': 'hit\n',
    'types/x.py': 'hit\n',
    'types/x.rs': 'hit\n',
  };
  for (const [path, content] of Object.entries(files)) arena.put(path, content);
  const home = dirname(arena.root);
  mkdirSync(join(home, 'beside'));
  arena.put('../beside/x.txt', 'hit beside\n');
  symlinkSync('src', join(arena.root, 'link'));
  symlinkSync('a.rs', join(arena.root, 'src/linked.rs'));
  symlinkSync('../beside', join(arena.root, 'beside'));
  symlinkSync('/etc/passwd', join(arena.root, 'passwd'));
  symlinkSync('.', join(arena.root, 'circle'));
  execFileSync('mkfifo', [join(arena.root, 'src/fifo')]);
  // A name that is no UTF-8 cannot be written by a string.
  arena.put('names/unnamed', 'hit\n');
  const odd = Buffer.concat([Buffer.from(`${arena.root}/names/n`), Buffer.from([0xe9]), Buffer.from('.txt')]);
  renameSync(join(arena.root, 'names/unnamed'), odd);
}

const NAMES = [
  'names/\n1:1:x\n.txt',
  'names/-dash.txt',
  'names/[x]{y}.txt',
  'names/a: WARNING: stopped searching binary file after match (found "\\0")\nb.txt',
  'names/line\nbreak.txt',
  'names/ü.txt',
  'names/\uff5e.txt',
  'names/\u{1f600}.txt',
];

export const MATCHES: readonly Row[] = [
  ['text, in bytewise order of paths', { glob: 'src/**' }, SRC],
  [
    'it whatever the case',
    { glob: 'src/b.ts', caseSensitive: false },
    ['src/b.ts:1:1 hit ts', 'src/b.ts:2:1 HIT upper'],
  ],
  ['everything in a folder that is named', { glob: 'src/a' }, ['src/a/deep.rs:1:1 hit deep']],
  ['one file', { glob: 'src/a-b.rs' }, ['src/a-b.rs:1:1 hit']],
  ['files of one folder', { glob: 'src/*.rs' }, SRC.filter((line) => /^src\/[^/]*\.rs/.test(line))],
  ['files by alternatives', { glob: 'src/{a-b.rs,b.*}' }, ['src/a-b.rs:1:1 hit', 'src/b.ts:1:1 hit ts']],
  ['files by a class', { glob: 'src/[!a].ts' }, ['src/b.ts:1:1 hit ts']],
  ['files by a single letter', { glob: 'src/?.ts' }, ['src/b.ts:1:1 hit ts']],
  [
    'by a regular expression',
    { glob: 'src/**', pattern: '^\\w+ +hit\\(' },
    ['src/a.rs:2:1 fn   hit() {} // hit'],
  ],
  [
    'by alternatives',
    { glob: 'src/**', pattern: 'deep|ts$' },
    ['src/a/deep.rs:1:5 hit deep', 'src/b.ts:1:5 hit ts'],
  ],
  [
    'plain text that looks like an expression',
    { glob: 'src/**', pattern: 'hit() {', fixedStrings: true },
    ['src/a.rs:2:6 fn   hit() {} // hit'],
  ],
  [
    'plain text whatever its case',
    { glob: 'src/**', pattern: 'UPPER', fixedStrings: true, caseSensitive: false },
    ['src/b.ts:2:5 HIT upper'],
  ],
  ['a pattern that begins with a dash', { glob: 'odd/*', pattern: '--hit' }, ['odd/dashes.txt:1:1 --hit -e']],
  ['a pattern that is an option', { glob: 'odd/*', pattern: '-e' }, ['odd/dashes.txt:1:7 --hit -e']],
  ['a pattern of two dashes', { glob: 'odd/*', pattern: '-- h' }, ['odd/dashes.txt:2:1 -- hit']],
  [
    'a pattern with quotes and a shell in it',
    { glob: 'odd/*', pattern: `it's "hit" \`$(hit)\` \\hit`, fixedStrings: true },
    [`odd/quotes.txt:1:1 it's "hit" \`$(hit)\` \\hit`],
  ],
  ['a character beyond ASCII', { glob: 'src/**', pattern: 'ü' }, ['src/a.rs:4:1 ü hit']],
  [
    'the end of lines that end in CR LF',
    { glob: 'odd/crlf.txt', pattern: 'hit$' },
    ['odd/crlf.txt:1:3 x hit', 'odd/crlf.txt:2:1 hit'],
  ],
  ['empty lines', { glob: 'odd/crlf.txt', pattern: '^$' }, ['odd/crlf.txt:3:1 ']],
  ['text behind a byte order mark', { glob: 'odd/bom.txt', pattern: '^hit' }, ['odd/bom.txt:1:1 hit bom']],
  [
    'text in UTF-16',
    { glob: 'odd/utf16*', pattern: 'hit' },
    ['odd/utf16be.txt:1:1 hit be', 'odd/utf16le.txt:1:4 ü hit', 'odd/utf16le.txt:2:1 hit two'],
  ],
  ['the last line without a terminator', { glob: 'odd/no-end.txt' }, ['odd/no-end.txt:1:1 hit']],
  ['nothing in an empty file', { glob: 'odd/empty.txt', pattern: '.*' }, []],
  ['nothing in binary files, early or late', { glob: 'binary/**' }, []],
  ['files of any name', { glob: 'names/**' }, NAMES.map((name) => `${name}:1:1 hit`)],
  [
    'a file whose name has special characters',
    { glob: 'names/\\[x\\]\\{y\\}.txt' },
    ['names/[x]{y}.txt:1:1 hit'],
  ],
  ['hidden files where the glob spells them', { glob: '.env' }, ['.env:1:1 hit env']],
  [
    'hidden files below where it spells them',
    { glob: 'src/.hidden/**' },
    ['src/.hidden/x.rs:1:1 hit hidden'],
  ],
  [
    'hidden files anywhere where it spells them',
    { glob: '**/.hidden/*' },
    ['src/.hidden/x.rs:1:1 hit hidden'],
  ],
  [
    'hidden files when asked for',
    { glob: 'src/**', includeHidden: true },
    ['src/.hidden/x.rs:1:1 hit hidden', ...SRC],
  ],
  [
    'nothing in .git and .haft, even when asked for',
    { glob: '{.git,.haft,sub}/**', includeHidden: true, includeIgnored: true },
    [],
  ],
  ['nothing in .git by its name', { glob: '.git/**', includeHidden: true }, []],
  ['ignored folders where the glob spells them', { glob: 'target/**' }, ['target/out.rs:1:1 hit target']],
  [
    'what ignore files above leave',
    { glob: 'pkg/src/**' },
    [
      'pkg/src/gen/a.txt:1:1 hit not ignored',
      'pkg/src/only-here:1:1 hit deeper',
      'pkg/src/y.special.log:1:1 hit special',
    ],
  ],
  [
    'what ignore files leave',
    { glob: 'pkg/**' },
    [
      'pkg/src/gen/a.txt:1:1 hit not ignored',
      'pkg/src/only-here:1:1 hit deeper',
      'pkg/src/y.special.log:1:1 hit special',
    ],
  ],
  [
    'ignored files when asked for',
    { glob: '{excluded.txt,only-here,target/*}', includeIgnored: true },
    ['excluded.txt:1:1 hit ignored', 'only-here:1:1 hit ignored', 'target/out.rs:1:1 hit target'],
  ],
  ['no ignored file by itself', { glob: '{excluded.txt,only-here,target/*}' }, []],
  ['nothing of other people’s code', { glob: 'lib/**' }, ['lib/vendor.go:1:1 hit own']],
  [
    'other people’s code where the glob spells it',
    { glob: 'lib/vendor/*' },
    ['lib/vendor/y.go:1:1 hit vendored'],
  ],
  [
    'other people’s code when asked for',
    { glob: 'lib/**', includeIgnored: true },
    [
      'lib/node_modules/x/index.js:1:1 hit vendored',
      'lib/vendor.go:1:1 hit own',
      'lib/vendor/y.go:1:1 hit vendored',
    ],
  ],
  [
    'files by their type',
    { glob: 'types/*', fileTypes: ['make', 'python'] },
    ['types/Makefile:1:1 hit', 'types/x.mk:1:1 hit', 'types/x.py:1:1 hit'],
  ],
  ['files by type and glob', { glob: 'types/*.mk', fileTypes: ['make', 'python'] }, ['types/x.mk:1:1 hit']],
  ['nothing through links', { glob: '{passwd,circle/src/*,src/linked.rs}', pattern: '.' }, []],
  ['nothing below a file', { glob: 'src/a.rs/*' }, []],
];

export const REFUSED: readonly (readonly [what: string, query: Partial<SearchQuery>, reason: string])[] = [
  ['an open group', { pattern: 'a(b' }, 'input.pattern'],
  ['an open class', { pattern: '[a' }, 'input.pattern'],
  ['the beginning of a named group', { pattern: '(?P<' }, 'input.pattern'],
  ['looking ahead', { pattern: 'a(?=b)' }, 'input.pattern'],
  ['looking behind', { pattern: '(?<!a)b' }, 'input.pattern'],
  ['a back-reference', { pattern: '(a)\\1' }, 'input.pattern'],
  ['a repetition of nothing', { pattern: '*a' }, 'input.pattern'],
  ['a repetition beyond measure', { pattern: '((a{1000}){1000}){1000}' }, 'input.pattern'],
  ['a line break without multiline', { pattern: 'a\nb' }, 'input.pattern'],
  ['an escaped line break without multiline', { pattern: 'a\\nb' }, 'input.pattern'],
  ['a line break in plain text', { pattern: 'a\nb', fixedStrings: true }, 'input.pattern'],
  ['a NUL character', { pattern: 'a\0b' }, 'input.pattern'],
  ['a glob that climbs', { glob: '../**' }, 'input.glob'],
  ['a glob that climbs inside', { glob: 'src/../../x' }, 'input.glob'],
  ['an absolute glob', { glob: '/etc/*' }, 'input.glob'],
  ['an open bracket in the glob', { glob: 'src/[a' }, 'input.glob'],
  ['a link that leaves the workspace', { glob: 'beside/*' }, 'path.outside_workspace'],
];
