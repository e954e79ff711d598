// Owns: what an analysis says: words, canonical text, wrappers, redirects, assignments, and where a refusal stands.
// Refuses: to judge tricks (bypass.test.ts) or to run lines (soundness.test.ts).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import type { ShellListing, ShellRefusal } from './analysis.ts';
import { analyzeShell, shellArgv } from './analyze-shell.ts';
import LINES from './fixtures/soundness.json' with { type: 'json' };
import { makeLine, mutate, seeded } from './make-line-for-tests.ts';

async function listed(line: string): Promise<ShellListing> {
  const analysis = await analyzeShell(line);
  assert.ok(analysis.ok, analysis.ok ? '' : analysis.message);
  return analysis;
}

async function refused(line: string): Promise<ShellRefusal> {
  const analysis = await analyzeShell(line);
  assert.ok(!analysis.ok, 'it was accepted');
  return analysis;
}

const canonical = async (line: string) => (await listed(line)).commands.map((command) => command.canonical);

describe('analyzeShell lists commands', () => {
  it('with their words after quote removal and the assignments before them', async () => {
    const { commands } = await listed('A=1 B="x y" cargo test \'a b\' "c"\\ d');
    assert.deepEqual(commands, [
      {
        words: ['cargo', 'test', 'a b', 'c d'],
        dynamic: [],
        canonical: "cargo test 'a b' 'c d'",
        env: { A: '1', B: 'x y' },
        inert: false,
      },
    ]);
  });

  it('with a note of the words that are only known while running', async () => {
    const { commands } = await listed('cargo test "$x" a$(date)b *.rs');
    assert.deepEqual(commands[0]?.words, ['date']);
    assert.deepEqual(commands[1]?.words, ['cargo', 'test', '"$x"', 'a$(…)b', '*.rs']);
    assert.deepEqual(commands[1]?.dynamic, [2, 3, 4]);
  });

  it('with one canonical text, however they are written', async () => {
    const written = [
      'cargo test',
      '  cargo   test ',
      '"cargo" te\'st\'',
      'c\\argo \\\n\ttest # x',
      '\n\ncargo\ttest\n',
      '{ cargo test; }',
    ];
    for (const line of written) assert.deepEqual(await canonical(line), ['cargo test'], line);
  });

  it('so that one word never looks like two', async () => {
    assert.deepEqual(await canonical('"cargo test"'), ["'cargo test'"]);
    assert.deepEqual(await canonical('cargo "test x"'), ["cargo 'test x'"]);
    assert.deepEqual(await canonical('cargo "a\nb"'), ["cargo $'a\\nb'"]);
    assert.deepEqual(await canonical('cargo te"st $x"'), ['cargo \'test \'"$x"']);
  });

  it('inside wrappers, with the way there', async () => {
    const { commands } = await listed("timeout 5 env A=1 bash -c 'nice cargo test; ls'");
    assert.deepEqual(
      commands.map(({ canonical: text, viaWrapper, env }) => [text, viaWrapper, env]),
      [
        ['cargo test', ['timeout', 'env', 'bash', 'nice'], {}],
        ['ls', ['timeout', 'env', 'bash'], {}],
      ],
    );
  });

  it('of a wrapper given as a path together with the wrapper', async () => {
    assert.deepEqual(await canonical('/usr/bin/env cargo test'), ['/usr/bin/env cargo test', 'cargo test']);
  });

  it('of find and what it starts', async () => {
    assert.deepEqual(await canonical('find . -exec rg x {} +'), ['find . -exec rg x {} +', 'rg x {}']);
  });

  it('marking builtins that start nothing', async () => {
    const { commands } = await listed('cd a && echo hi && [ -f b ] && cargo test');
    assert.deepEqual(
      commands.map(({ inert }) => inert),
      [true, true, true, false],
    );
  });

  it('of nothing for an empty line or a comment', async () => {
    assert.deepEqual((await listed('')).commands, []);
    assert.deepEqual((await listed(' # ls\n')).commands, []);
  });
});

describe('analyzeShell lists what the shell itself touches', () => {
  it('files with the direction, but no streams', async () => {
    const { redirects } = await listed('ls < in > out 2>&1 2>> err 3<> both 4>/dev/null 5<&0 &> all >&2');
    assert.deepEqual(
      redirects.map(({ operator, access, path }) => [operator, access, path]),
      [
        ['<', 'read', 'in'],
        ['>', 'write', 'out'],
        ['>>', 'write', 'err'],
        ['<>', 'read-write', 'both'],
        ['&>', 'write', 'all'],
      ],
    );
  });

  it('files under every folder that a cd may have led to', async () => {
    const { redirects } = await listed('ls > a; cd x && ls > b; cd /y; ls > c; ls > /d');
    assert.deepEqual(
      redirects.map(({ candidates }) => candidates),
      [['a'], ['b', 'x/b'], ['c', 'x/c', '/y/c'], ['/d']],
    );
  });

  it('files under the folder that env starts a shell in', async () => {
    const { redirects } = await listed("env -C sub bash -c 'ls > out'");
    assert.deepEqual(redirects[0]?.candidates, ['out', 'sub/out']);
  });

  it('files that nested text opens', async () => {
    const { redirects } = await listed('echo "$(<in)"; bash -c "ls > out"');
    assert.deepEqual(
      redirects.map(({ path, access }) => [path, access]),
      [
        ['in', 'read'],
        ['out', 'write'],
      ],
    );
  });

  it('variables', async () => {
    const { assignments } = await listed('a=1; b="$x y"; export C=d; e=(1 2)');
    assert.deepEqual(assignments, [
      { name: 'a', value: '1', dynamic: false },
      { name: 'b', value: '"$x"\' y\'', dynamic: true },
      { name: 'C', value: 'd', dynamic: false },
      { name: 'e', value: '(…)', dynamic: true },
    ]);
  });
});

describe('analyzeShell refuses', () => {
  it('with the place and the piece that decided', async () => {
    const { reason, at, message } = await refused('ls\necho a &&  $x b');
    assert.equal(reason, 'shell.dynamic');
    assert.deepEqual(at, { line: 2, column: 12, text: '$x' });
    assert.match(message, /\$x/);
  });

  it('inside nested text at the word that holds it', async () => {
    const { at } = await refused("ls; bash -c 'ls; $x'");
    assert.deepEqual(at, { line: 1, column: 13, text: "'ls; $x'" });
  });

  it('with the reasons of the error table', async () => {
    assert.equal((await refused("ls 'x")).reason, 'shell.unparsable');
    assert.equal((await refused('sudo ls')).reason, 'shell.wrapper');
    assert.equal((await refused('$x')).reason, 'shell.dynamic');
  });

  it('more than 64 KiB, and takes as much', async () => {
    assert.equal((await analyzeShell(`ls ${'a'.repeat(64 * 1024 - 3)}`)).ok, true);
    assert.equal((await refused(`ls ${'a'.repeat(64 * 1024 - 2)}`)).reason, 'shell.unparsable');
    assert.equal((await refused(`ls ${'é'.repeat(32 * 1024)}`)).reason, 'shell.unparsable');
  });

  it('nesting without end, whatever is nested', async () => {
    const pairs =
      '( | )   { | ;}   $( | )   "$( | )"   <( | )   if a; then | ;fi   (( | ))   [[ ( | ) ]]   ` | `'.split(
        '   ',
      );
    for (const pair of [...pairs, '$' + '{x:-|}']) {
      const [open, close] = pair.split('|') as [string, string];
      for (const depth of [100, 3000]) await refused(`${open.repeat(depth)}ls${close.repeat(depth)}`);
    }
    await refused('env '.repeat(1000));
    await refused('coproc '.repeat(9000));
  });

  it('over 1,000 commands, wherever they stand, and takes as many', async () => {
    const many = (join: (commands: readonly string[]) => string, count: number, command = 'ls') =>
      join(Array.from({ length: count }, () => command));
    for (const between of ['|', '|&', '&&', '||', ';', '&', '\n', '&& ! ']) {
      const listed = await analyzeShell(many((commands) => commands.join(between), 1000));
      assert.equal(listed.ok, true, between);
      for (const count of [1001, 9_001])
        assert.match(
          (await refused(many((commands) => commands.join(between), count))).message,
          /1000 commands/,
        );
    }
    const wrapped: readonly ((commands: readonly string[]) => string)[] = [
      (commands) => `echo ${commands.map((one) => `$(${one})`).join(' ')}`,
      (commands) => `echo "${commands.map((one) => `\`${one}\``).join('')}"`,
      (commands) => `cat ${commands.map((one) => `<(${one})`).join(' ')}`,
      (commands) => `cat <<E\n${commands.map((one) => `$(${one})`).join('\n')}\nE`,
      (commands) => commands.map((one) => `(${one})`).join('|'),
      (commands) => `if ${commands.join('|')}; then ls; fi`,
      (commands) => `case a in ${commands.map((one) => `a) ${one};;`).join(' ')} esac`,
      (commands) => `find . ${commands.map((one) => `-exec ${one} {} +`).join(' ')}`,
      (commands) => `bash -c '${commands.join('|')}'`,
      (commands) => `x=1; ${commands.map((one) => `bash -c ${one}`).join('|')}`,
      (commands) => commands.map(() => 'x=1').join(';'),
      (commands) => commands.map(() => '[[ a ]]').join('&&'),
      (commands) => commands.map(() => '((1))').join('||'),
    ];
    for (const wrap of wrapped)
      assert.match((await refused(many(wrap, 1001))).message, /1000 commands/, wrap(['ls']));
  });
});

describe('analyzeShell always answers', () => {
  const answers = async (line: string) => {
    const analysis = await analyzeShell(line);
    if (analysis.ok) return analysis.commands.every(({ canonical: text }) => !/[\n\r\0]/.test(text));
    const { line: at, column, text } = analysis.at;
    return (
      at >= 1 &&
      at <= line.split('\n').length &&
      column >= 1 &&
      text.length <= 80 &&
      analysis.message.length <= 300
    );
  };

  it('for any text', async () => {
    await fc.assert(fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), answers), {
      numRuns: 500,
    });
  });

  it('for any bytes read as UTF-8', async () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array).toString('utf8'));
    await fc.assert(fc.asyncProperty(bytes, answers), { numRuns: 500 });
  });

  it('for any text made of shell grammar', async () => {
    const piece = fc.constantFrom(
      ...'\'"`$(){}[];&|<>#\\\n !*?~=-,aE0',
      '$(',
      '${',
      '$((',
      '))',
      '<<E\n',
      'if ',
      'then ',
      'fi',
      'case ',
      'in ',
      'esac',
      '[[ ',
      ' ]]',
      'ls ',
    );
    const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));
    await fc.assert(fc.asyncProperty(text, answers), { numRuns: 3000 });
  });

  it('for lines with characters changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const random = seeded(seed);
        const line = random() < 0.5 ? makeLine(random, 3) : LINES[Math.floor(random() * LINES.length)]!;
        return answers(mutate(random, line));
      }),
      { numRuns: 1000 },
    );
  });

  it('for 64 KiB of the same thing again and again', async () => {
    const bits = [
      '$(',
      '((',
      '{',
      '{a,',
      '[a-',
      '`',
      '"$(',
      '<<E ',
      'cat <<E\nE\n',
      '( ',
      'a;',
      'a=1 ',
      '>a ',
      '<(a) ',
      '\\\n',
      'env ',
      'xargs ',
      'cd a;',
      '$x',
      "'",
      '"',
      '#',
      '*',
      'a|',
    ];
    for (const bit of bits)
      for (const before of ['', 'echo ', 'echo "']) {
        const line = (before + bit.repeat(64 * 1024)).slice(0, 64 * 1024);
        assert.ok(await answers(line), JSON.stringify(bit));
      }
  });
});

describe('shellArgv', () => {
  it('reads no start-up file and takes nothing of the line as an option', () => {
    assert.deepEqual(shellArgv('-x'), ['bash', '--noprofile', '--norc', '-c', '--', '-x']);
  });
});
