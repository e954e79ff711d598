import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EXECUTED_UNASKED, isExecutedByPeople } from './executed-files.ts';
import { compilePathGlob } from './policy-match.ts';

const UNASKED = [
  ...['.github/workflows/ci.yml', '.gitea/workflows/ci.yml', 'a/.forgejo/workflows/x/y.yml'],
  ...['.github/actions/a/action.yml', '.roo/mcp.json', '.kiro/settings/mcp.json', '.continue/config.yaml'],
  ...['opencode.json', 'opencode.jsonc', '.opencode/plugin/x.ts', '.aider.conf.yml', '.amazonq/mcp.json'],
  ...['.qwen/settings.json', '.claude/settings.json', '.mcp.json', '.zed/tasks.json', 'app.sublime-project'],
  ...[
    '.run/app.run.xml',
    '.lvimrc',
    '.vimrc',
    '.dir-locals.el',
    '.dir-locals-2.el',
    'bunfig.toml',
    'uv.toml',
  ],
  ...['pip.ini', 'pip.conf', '.bundle/config', '.gradle/init.gradle', '.gradle/init.gradle.kts'],
  ...['.gradle/init.d/x.gradle', 'gradle/wrapper/gradle-wrapper.jar', '.config/mise/config.toml'],
  ...['.config/mise/conf.d/x.toml', '.mise/config.toml', 'mise.toml', '.mise.local.toml', 'mise.dev.toml'],
  ...['mise.dev.local.toml', '.lefthook/pre-commit/x', '.lefthook-local/x', 'lefthook.yml'],
  ...['.simple-git-hooks.json', '.simple-git-hooks.cjs', '.lintstagedrc', '.lintstagedrc.json'],
  ...['lint-staged.config.js', '.overcommit.yml', '.venv/bin/python', 'venv/Scripts/pip.exe', 'env/bin/pip'],
  ...['.virtualenv/bin/pip', 'myenv/bin/pip', '.venv311/bin/pip', 'py/bin/activate', 'py/bin/activate.fish'],
  ...['py/Scripts/Activate.ps1', '.tox/py311/bin/pytest'],
  ...[
    '.hg/hgrc',
    'a/.hg/hgrc-not-shared',
    '.hgrc',
    '.jj/repo/config.toml',
    '.jj/workspace-config/config.toml',
  ],
  ...['.sl/config', '.gitconfig', '.config/git/config', '.arcconfig', '.fossil-settings/x', '.Rprofile'],
  ...['a/.Renviron', '.bazelrc', 'ci.bazelrc', '.bazelversion', '.buckconfig.local'],
  ...[
    'pnpm-workspace.yaml',
    'poetry.toml',
    'rust-toolchain',
    'rust-toolchain.toml',
    'NuGet.Config',
    '.condarc',
  ],
  ...['.jvmopts', '.sbtopts', '.envrc.local', '.autoenv.zsh', '.irbrc', '.pryrc', '.pdbrc', '.pdbrc.py'],
  ...['.gdbinit', '.lldbinit', '.lldbinit-lldb', '.ghci', '.iex.exs', '.psqlrc', '.mongorc.js', '.tmux.conf'],
  ...['.helix/languages.toml', '.vs/tasks.vs.json', '.bsp/sbt.json', '.emacs.d/init.el', '.vim/plugin/x.vim'],
  ...['crush.json', '.crush/x', '.goose/config.yaml', '.terraform/providers/x', '.terraformrc'],
];

const ON_PURPOSE = [
  ...['action.yml', 'a/action.yaml', 'gradle.properties', 'tests/conftest.py', 'vite.config.ts'],
  ...['jest.config.mjs', 'webpack.config.babel.js', 'karma.conf.js', '.eslintrc.js', '.eslintrc.cjs'],
  ...['.mocharc.cjs', '.babelrc.js', 'binding.gyp', 'Cargo.toml', 'noxfile.py', 'tox.ini', 'setup.cfg'],
  ...['package.json', 'Makefile', 'x.sh', '.pylintrc', 'WORKSPACE', 'MODULE.bazel', 'turbo.json', 'mix.exs'],
];

const NEITHER = [
  ...['src/index.ts', 'src/config.ts', 'config/app.json', 'docs/run.md', 'src/bin/main.rs', 'bin/tool.py'],
  ...['src/env.ts', 'src/environment/bin.ts', 'src/rc.js', 'tests/test_x.py', 'src/continue.ts', 'README.md'],
  ...['gradle/libs.versions.toml', 'src/action.ts', 'mise/notes.md', 'tsconfig.json', 'src/conf.py'],
  ...['tools/bazel.md', 'src/hgrc.ts', 'src/vim.ts', 'poetry.lock', 'terraform/main.tf', 'src/profile.R'],
];

describe('executed files', () => {
  const matchers = EXECUTED_UNASKED.flatMap(({ globs }) => globs.map(compilePathGlob));
  const isUnasked = (path: string) => matchers.some((matcher) => matcher.matches(path));

  for (const path of UNASKED)
    it(`${path} is executed without anybody meaning to`, () => assert.ok(isUnasked(path)));
  for (const path of ON_PURPOSE) {
    it(`${path} is executed on purpose: a change is marked, and nobody is asked`, () =>
      assert.deepEqual([isUnasked(path), isExecutedByPeople(path)], [false, true]));
  }
  for (const path of NEITHER) it(`${path} is neither`, () => assert.equal(isExecutedByPeople(path), false));
});
