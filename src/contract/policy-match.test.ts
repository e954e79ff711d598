// Owns: when rules match: globs, tool names, domains and patterns, as loader and runtime both see them.
// Refuses: decisions.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { compileGlob } from '../base/glob.ts';
import {
  blocksTree,
  checkPathGlob,
  compilePathGlob,
  coversDomain,
  loadPatternCompiler,
  matchesDomain,
  parseDomain,
  parseTarget,
  ruleIdentity,
  strictestOf,
} from './policy-match.ts';

describe('compilePathGlob', () => {
  const CASES: readonly [glob: string, path: string, matches: boolean][] = [
    ['secrets', 'secrets', true],
    ['secrets', 'secrets/deep/key', true],
    ['secrets', 'secrets2', false],
    ['secrets/', 'secrets/key', true],
    ['**/.env', '.env', true],
    ['**/.env', 'a/b/.env', true],
    ['**/.env', 'a/.env.local', false],
    ['**/.env', '/opt/shared/.env', true],
    ['*.pem', 'a.pem', true],
    ['*.pem', 'a.pem/x', false],
    ['*.pem', 'sub/a.pem', false],
    ['src/**', 'src', true],
    ['src/**', 'src/.hidden/x', true],
    ['src/*', '/src/x', false],
    ['{secrets,*.pem}', 'secrets/y', true],
    ['[ab]*/x', 'abc/x', true],
    ['**/.env[!r]*', 'a/.env.local', true],
    ['**/.env[!r]*', 'a/.envrc', false],
    ['**/.env[!r]*', 'a/env', false],
    ['x[]a]y', 'x]y', true],
    ['x[!]a]y', 'xby', true],
    ['x[!]a]y', 'xay', false],
    ['x[a[b]y', 'x[y', true],
    ['{x[}]y,z}', 'x}y', true],
    ['{x[,]y,z}', 'x,y', true],
    ['x[-b]y', 'x-y', true],
    ['x[^a]y', 'xby', true],
    ['/opt/data/**', '/opt/data/x', true],
    ['/opt/data/**', 'opt/data/x', false],
    ['**', '.', true],
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'axb', false],
  ];
  for (const [glob, path, matches] of CASES) {
    it(`${glob} ${matches ? 'matches' : 'does not match'} ${path}`, () => {
      assert.equal(compilePathGlob(glob).matches(path), matches);
    });
  }

  it('matches whatever the plain glob matches', () => {
    const name = fc.constantFrom(
      'a',
      'ab',
      '.x',
      'b.c',
      '*',
      '**',
      '?b',
      'a*',
      '{a,b}',
      '{a,{b.,x.}c}',
      '{,.}x',
      '{a*,?b}',
      '[ab]',
      '[!x]b',
      'a[!a]*',
      '{[ab].c,x[!a]*}',
      '{[ab],[]x].c}',
      '*.c',
    );
    const file = fc.array(fc.constantFrom('a', 'b', 'ab', '.x', 'b.c', 'x.c'), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 3 }), file, (names, files) => {
        const glob = names.join('/');
        const path = files.join('/');
        if (compileGlob(glob, { dot: true })(path))
          assert.ok(compilePathGlob(glob).matches(path), `${glob} ${path}`);
      }),
    );
  });

  it('reaches every folder above what it matches', () => {
    const name = fc.constantFrom('a', 'b', '*', '**', 'a*', '*b', 'a?', '[ab]b', '{a,b}');
    const file = fc.array(fc.constantFrom('a', 'b', 'ab'), { minLength: 2, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 3 }), file, fc.nat(4), (names, files, cut) => {
        const matcher = compilePathGlob(names.join('/'));
        if (!matcher.matches(files.join('/'))) return;
        const folder = files.slice(0, cut).join('/') || '.';
        assert.notEqual(matcher.reaches(folder), 'never', `${names.join('/')} ${folder}`);
      }),
    );
  });

  it('says whether it leads below a folder or only perhaps ends up there', () => {
    const reach = (glob: string, folder: string) => compilePathGlob(glob).reaches(folder);
    assert.equal(reach('src/secrets/**', 'src'), 'named');
    assert.equal(reach('src/*/secrets', 'src/a'), 'named');
    assert.equal(reach('src/*/secrets', 'src/a/build'), 'never');
    assert.equal(reach('**/*.pem', 'build'), 'perhaps');
    assert.equal(reach('**/*.pem', '.'), 'named');
    assert.equal(reach('docs/**/x', 'src'), 'never');
    assert.equal(reach('x*/secret', 'build'), 'never');
    assert.equal(reach('*.d/secret', 'build'), 'never');
    assert.equal(reach('b*d/secret', 'build'), 'named');
    assert.equal(reach('/opt/x', '.'), 'never');
    assert.equal(blocksTree(compilePathGlob('**/*.pem'), 'deny', 'build'), false);
    assert.equal(blocksTree(compilePathGlob('**/*.pem'), 'ask', 'build'), false);
    assert.equal(blocksTree(compilePathGlob('build/keep'), 'deny', 'build'), true);
    assert.equal(blocksTree(compilePathGlob('build/keep'), 'allow', 'build'), false);
  });

  it('refuses a glob that cannot be understood', () => {
    for (const glob of ['', 'a/{b', 'a/[b', '../x', 'a/../b']) assert.throws(() => checkPathGlob(glob), glob);
    for (const glob of ['a', '/opt/**', '**']) checkPathGlob(glob);
  });
});

describe('domains', () => {
  const CASES: readonly [domain: string, target: string, matches: boolean][] = [
    ['example.org', 'https://example.org/x', true],
    ['example.org', 'http://example.org', true],
    ['example.org', 'http://example.org:8080', false],
    ['example.org', 'https://example.org:80', false],
    ['example.org', 'ftp://example.org', false],
    ['example.org', 'https://EXAMPLE.ORG./', true],
    ['example.org', 'https://evil-example.org', false],
    ['*.example.org', 'https://a.b.example.org', true],
    ['*.example.org', 'https://example.org', false],
    ['localhost:8080', 'http://localhost:8080', true],
    ['localhost:8080', 'localhost:8080', true],
    ['[::1]:80', 'http://[0:0::1]', true],
    ['127.0.0.1', 'http://127.1', true],
    ['münchen.de', 'https://xn--mnchen-3ya.de', true],
  ];
  for (const [domain, text, matches] of CASES) {
    it(`${domain} ${matches ? 'matches' : 'does not match'} ${text}`, () => {
      const target = parseTarget(text);
      assert.ok(target);
      assert.equal(matchesDomain(parseDomain(domain), target), matches);
    });
  }

  it('takes an address of IPv6 with or without brackets', () => {
    assert.ok(matchesDomain(parseDomain('[::1]:80'), { scheme: 'http', host: '::1', port: 80 }));
  });

  it('knows which of two matches less', () => {
    const covers = (wide: string, narrow: string) => coversDomain(parseDomain(wide), parseDomain(narrow));
    assert.ok(covers('*.example.org', 'a.example.org'));
    assert.ok(covers('*.example.org', '*.b.example.org'));
    assert.ok(covers('*.example.org', '*.example.org'));
    assert.ok(!covers('*.example.org', 'example.org'));
    assert.ok(!covers('example.org', '*.example.org'));
    assert.ok(!covers('example.org', 'example.org:8080'));
    assert.ok(!covers('*.example.org', 'badexample.org'));
  });

  it('refuses what is no host', () => {
    for (const text of [
      '',
      '*',
      'a b',
      'https://x',
      'a/b',
      'u@h',
      'x:0',
      'x:65536',
      '-a.b',
      'a..b',
      '*.*.x',
    ]) {
      assert.throws(() => parseDomain(text), text);
    }
  });
});

describe('patterns', () => {
  it('match in linear time and refuse what could not', async () => {
    const compile = await loadPatternCompiler();
    assert.ok(compile('^cargo(\\s|$)')('cargo test'));
    assert.ok(!compile('^cargo(\\s|$)')('cargo-evil'));
    assert.equal(compile('^(a+)+$')(`${'a'.repeat(50_000)}b`), false);
    for (const bad of ['(', '(?=x)', '(a)\\1', 'x'.repeat(1001), '((a{100}){100}){100}']) {
      assert.throws(() => compile(bad), bad);
    }
  });
});

describe('a pattern that allows', () => {
  const LINES: Readonly<Record<string, readonly string[]>> = {
    cargo: ['evil cargo', 'rm -rf x cargo'],
    '^ls|cargo': ['evil cargo'],
    '(?m)^cargo': ["evil 'a\ncargo'"],
    test$: ['rm test'],
  };

  it('is found at the start of a command only; one that asks or denies, anywhere', async () => {
    const compile = await loadPatternCompiler();
    for (const [pattern, commands] of Object.entries(LINES)) {
      for (const command of commands) {
        assert.equal(compile(pattern)(command, 'allow'), false, `${pattern} ${command}`);
        assert.equal(compile(pattern)(command, 'deny'), true, `${pattern} ${command}`);
        assert.equal(compile(pattern)(command, 'ask'), true, `${pattern} ${command}`);
      }
    }
    assert.equal(compile('cargo')('cargo test', 'allow'), true);
  });
});

describe('strictness and identity', () => {
  it('puts deny before ask before allow', () => {
    assert.equal(strictestOf(['allow', 'deny', 'ask']), 'deny');
    assert.equal(strictestOf(['allow', 'ask']), 'ask');
    assert.equal(strictestOf([]), undefined);
  });

  it('knows the same rule in its short and its long form', () => {
    assert.equal(ruleIdentity('^a'), ruleIdentity({ pattern: '^a', decision: 'ask' }));
    assert.equal(ruleIdentity('a.org'), ruleIdentity({ domain: 'a.org', private: true }));
    assert.equal(ruleIdentity({ path: 'a', read: 'deny' }), ruleIdentity({ path: 'a', write: 'ask' }));
    assert.notEqual(
      ruleIdentity({ tool: 'a', decision: 'ask' }),
      ruleIdentity({ tool: 'a', paths: ['x'], decision: 'ask' }),
    );
  });
});
