// Owns: which files of a workspace people and their tools execute later, outside of any sandbox; the one list of them.
// Not here: what is decided about them: `haft init` writes rules from the first list, and the pipeline marks changes by both.
import { compilePathGlob, type PathMatcher } from './policy-match.ts';

export interface ExecutedFiles {
  /** For a person: why they matter. */
  readonly why: string;
  /** As in `paths.rules`. */
  readonly globs: readonly string[];
  /** Programs write them in the course of ordinary work, so that a rule binds tools alone. */
  readonly installed?: true;
  /** They hold secrets as well, so that nobody reads them. */
  readonly secret?: true;
}

/** Executed without anybody meaning to: by opening a folder, committing, installing, pushing. */
export const EXECUTED_UNASKED: readonly ExecutedFiles[] = [
  {
    why: 'what is installed, and the programs in it',
    // What makes a folder a venv is a file in it, so that its usual names stand for it, and what shells read in any.
    globs: [
      '**/node_modules',
      '**/site-packages',
      '**/{*env,{.,}venv*}/{bin,Scripts}',
      '**/{bin,Scripts}/{activate*,Activate*}',
      '**/.{tox,nox,terraform}',
    ],
    installed: true,
  },
  {
    why: "package managers' settings, which can name programs and other registries",
    globs: [
      '**/.npmrc',
      '**/{.pnpmfile.*,pnpm-workspace.yaml}',
      '**/.yarnrc*',
      '**/.cargo/config*',
      '**/{bunfig,uv,poetry,.pdm,rust-toolchain}.toml',
      '**/{pip.{conf,ini},rust-toolchain}',
      '**/{.pypirc,.condarc,.mambarc,.gemrc,.terraformrc,terraform.rc}',
      '**/{nuget,NuGet,Nuget}.{config,Config}',
      '**/.bundle/config',
      '**/.mvn',
      '**/.gradle/init.{d,gradle,gradle.kts}',
      '**/gradle/wrapper',
      '**/.{sbtopts,jvmopts}',
      '**/{*.bazelrc,.bazelversion,.bazeliskrc,.buckconfig*,.pants.rc}',
    ],
  },
  { why: "a package manager's own code", globs: ['**/.yarn', '**/.pnp.*'], installed: true },
  {
    why: 'hooks and settings of version control, and what it fetches',
    globs: [
      '**/.husky',
      '**/.githooks',
      '**/{.,}lefthook{,-local}.{yml,yaml,toml,json}',
      '**/.lefthook{,-local}',
      '**/{.simple-git-hooks,simple-git-hooks}.*',
      '**/{.lintstagedrc*,lint-staged.config.*}',
      '**/.pre-commit-config.yaml',
      '**/.overcommit.yml',
      '**/.git-hooks',
      '**/.gitmodules',
      '**/{.gitconfig,.config/git,.hgrc,.hg/hgrc*,.sl/config,.jj/{repo,workspace}*/config.toml}',
      '**/{.fossil-settings,.bzr/branch/branch.conf,.arcconfig,.arclint}',
    ],
  },
  {
    why: 'what editors run when they open a folder',
    globs: [
      '**/.vscode',
      '**/*.code-workspace',
      '**/.idea',
      '**/.devcontainer',
      '**/.devcontainer.json',
      '**/.{zed,fleet,run,helix,vs,nova,theia,bsp,externalToolBuilders}',
      '**/*.sublime-{project,workspace}',
      '**/.{vim,nvim,ex,lvim}rc',
      '**/{.nvim.lua,.vim,.nvim,.kakrc,.emacs,.emacs.d}',
      '**/.dir-locals{,-2}.el',
    ],
  },
  {
    why: 'what agents run: servers and hooks',
    globs: [
      '**/{.mcp,opencode,crush,.crush}.{json,jsonc}',
      '**/.{claude,codex,cursor,gemini,windsurf,roo,kiro,continue,opencode,amazonq,qwen}',
      '**/.{crush,cline,trae,goose,junie,factory,augment,copilot}',
      '**/.aider*',
    ],
  },
  { why: 'what runs on every push', globs: ['**/.{github,gitea,forgejo}/{workflows,actions}'] },
  {
    why: 'what direnv runs when a folder is entered, often with secrets in it',
    globs: ['**/.envrc*'],
    secret: true,
  },
  {
    why: 'what shells and interpreters run when they start',
    globs: [
      '**/.{direnv,autoenv*}',
      '**/{.,}mise{,.*}.toml',
      '**/{.config/mise,.mise,mise/config.toml}',
      '**/.{bash,zsh}{rc,env,_profile,_login,_logout}',
      '**/.{profile,zprofile,zlogin,zlogout}',
      '**/{site,user}customize.py',
      '**/{.Rprofile,.Renviron,Rprofile.site}',
      '**/.{irb,pry,rdbg,byebug,python,pdb,psql,sqlite,mongo,mongosh,screen,input}rc{,.*}',
      '**/.{gdbinit,lldbinit*,ghci,ocamlinit,iex.exs,tmux.conf,my.cnf}',
    ],
  },
];

/** Executed by people on purpose, and edited by agents all day: nobody is asked, and the answer and the audit say so. */
const EXECUTED_NAMES = new Set([
  ...['package.json', 'deno.json', 'deno.jsonc', 'composer.json', 'gemfile', 'rakefile', 'build.rs'],
  ...['cargo.toml', 'binding.gyp', 'gradle.properties', 'conftest.py', 'gulpfile.js', 'gruntfile.js'],
  ...['setup.py', 'setup.cfg', 'pyproject.toml', 'noxfile.py', 'tox.ini', 'conanfile.py', 'manage.py'],
  ...['makefile', 'gnumakefile', 'bsdmakefile', 'cmakelists.txt', 'meson.build', 'configure', 'configure.ac'],
  ...['justfile', '.justfile', 'taskfile.yml', 'taskfile.yaml', 'magefile.go', 'dodo.py', 'sconstruct'],
  ...['pom.xml', 'build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts', 'build.sbt'],
  ...['gradlew', 'gradlew.bat', 'mvnw', 'mvnw.cmd', 'gradle-wrapper.properties', 'build', 'build.bazel'],
  ...['dockerfile', 'containerfile', 'vagrantfile', 'jenkinsfile', 'procfile', 'tiltfile', 'flake.nix'],
  ...['docker-compose.yml', 'docker-compose.yaml', 'compose.yml', 'compose.yaml', 'default.nix', 'shell.nix'],
  ...['action.yml', 'action.yaml', '.woodpecker.yml', '.woodpecker.yaml', 'appveyor.yml', '.appveyor.yml'],
  ...['.pylintrc', 'pylintrc', '.flake8', 'mypy.ini', 'pytest.ini', '.rspec', '.rubocop.yml', 'devbox.json'],
  ...['nx.json', 'turbo.json', 'lerna.json', 'pants.toml', 'workspace', 'workspace.bazel', 'module.bazel'],
  ...['devenv.nix', 'devenv.yaml', 'mix.exs', 'directory.build.props', 'directory.build.targets'],
  ...['.gitlab-ci.yml', '.travis.yml', 'azure-pipelines.yml', 'bitbucket-pipelines.yml', '.drone.yml'],
]);
const EXECUTED_ENDINGS =
  /\.(?:sh|bash|zsh|fish|ksh|csh|bat|cmd|ps1|mk|cmake|command|desktop|dockerfile|gemspec|rake)$/;
/** Settings that are programs: `vite.config.ts`, `karma.conf.js`, `.eslintrc.cjs`. */
const EXECUTED_SETTINGS = /(?:\.conf(?:ig)?(?:\.[\w-]+)?|^\.[\w-]+rc)\.[cm]?[jt]sx?$/;
const EXECUTED_FOLDERS = /(?:^|\/)\.(?:circleci|buildkite|woodpecker)\//;

let unasked: readonly PathMatcher[] | undefined;

/** By its name alone; what has an executable bit is for who can see it. */
export function isExecutedByPeople(path: string): boolean {
  const lower = path.toLowerCase();
  const name = lower.slice(lower.lastIndexOf('/') + 1);
  if (EXECUTED_NAMES.has(name) || EXECUTED_ENDINGS.test(name) || EXECUTED_FOLDERS.test(lower)) return true;
  if (EXECUTED_SETTINGS.test(name)) return true;
  if (name.startsWith('dockerfile.') || name.startsWith('makefile.')) return true;
  return isExecutedUnasked(path);
}

/** Without anybody meaning to. */
export function isExecutedUnasked(path: string): boolean {
  unasked ??= EXECUTED_UNASKED.flatMap(({ globs }) => globs.map(compilePathGlob));
  return unasked.some((matcher) => matcher.matches(path));
}
