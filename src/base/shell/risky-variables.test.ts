// Owns: the names that may and may not be set.
// Refuses: to test how assignments are found.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { variableRisk } from './risky-variables.ts';

const RISKY =
  'PATH IFS ENV BASH_ENV BASH_FUNC_ls%% SHELLOPTS PS4 PROMPT_COMMAND LD_PRELOAD DYLD_INSERT_LIBRARIES GIT_SSH GIT_CONFIG_COUNT NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONHOME PERL5LIB PERL5OPT RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS CLASSPATH RUSTC_WRAPPER CARGO_HOME GOFLAGS CC MAKEFLAGS EDITOR PAGER LESSOPEN HOME XDG_CONFIG_HOME RANDOM OPTIND http_proxy HTTPS_PROXY npm_config_registry POSIXLY_CORRECT TEXTDOMAINDIR PYENV_HOOK_PATH RBENV_HOOK_PATH COMPILER_PATH GCC_EXEC_PREFIX PSQLRC TF_CLI_CONFIG_FILE ANSIBLE_CONFIG ASDF_DATA_DIR GS_LIB TEXMFCNF';
const FINE =
  'FOO CI DEBUG RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR CARGO_TARGET_DIR NODE_ENV PYTHONUNBUFFERED GIT_AUTHOR_NAME GIT_TERMINAL_PROMPT TERM NO_COLOR FORCE_COLOR TMPDIR i x MYPATH PATHS TZ COLUMNS';

describe('variableRisk', () => {
  for (const name of RISKY.split(' '))
    it(`warns of ${name}`, () => assert.equal(typeof variableRisk(name, 'x'), 'string'));
  for (const name of FINE.split(' '))
    it(`has nothing against ${name}`, () => assert.equal(variableRisk(name, 'x'), undefined));

  it('knows values that are fine all the same, when they are known', () => {
    assert.equal(variableRisk('LC_ALL', 'C.UTF-8'), undefined);
    assert.equal(variableRisk('GIT_PAGER', 'cat'), undefined);
    assert.equal(variableRisk('RUSTFLAGS', ''), undefined);
    assert.equal(typeof variableRisk('LC_ALL'), 'string');
    assert.equal(typeof variableRisk('LC_ALL', 'zh_CN.GBK'), 'string');
  });
});
