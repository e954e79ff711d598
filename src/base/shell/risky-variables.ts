// Owns: the variables through which an assignment decides what other programs run, as one table.
// Refuses: to know values that are only known while running: they never meet a row's `harmless`.

interface Row {
  readonly why: string;
  /** Names; `*` stands for any run of characters. */
  readonly names: string;
  readonly except?: string;
  /** Values that are fine all the same. */
  readonly harmless?: RegExp;
}

/** Why this variable must not be set, or undefined. `value` is absent when it is not known. */
export function variableRisk(name: string, value?: string): string | undefined {
  const row = ROWS.find((candidate) => candidate.names.test(name) && !candidate.except?.test(name));
  if (row === undefined) return undefined;
  return value !== undefined && row.harmless?.test(value) ? undefined : row.why;
}

const TABLE: readonly Row[] = [
  { why: 'it decides where programs are found', names: 'PATH CDPATH EXECIGNORE FPATH SHELL' },
  {
    why: 'it changes how the shell reads or runs the rest of the line',
    names:
      'IFS ENV BASH BASH_* BASHOPTS BASHPID SHELLOPTS POSIXLY_CORRECT PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 GLOBIGNORE FIGNORE GLOBSORT FUNCNAME FUNCNEST DIRSTACK COPROC COMP_* COMPREPLY READLINE_* HIST* histchars auto_resume FCEDIT INPUTRC TMOUT TEXTDOMAIN TEXTDOMAINDIR TIMEFORMAT MAIL MAILPATH MAILCHECK',
  },
  {
    why: 'the shell evaluates its value as arithmetic, which can run commands',
    names: 'RANDOM SRANDOM SECONDS LINENO OPTIND OPTERR EPOCHSECONDS EPOCHREALTIME UID EUID PPID GROUPS',
  },
  {
    why: 'it changes how bytes are read as characters',
    names: 'LANG LANGUAGE LC_* LOCPATH NLSPATH CHARSET OUTPUT_CHARSET GCONV_PATH',
    harmless: /^(|C|POSIX|C\.(UTF-8|utf8)|[a-z]{2}_[A-Z]{2}\.(UTF-8|utf8))$/,
  },
  {
    why: 'programs load code or settings from where it says',
    names:
      'HOME PWD OLDPWD XDG_* LD_* DYLD_* GLIBC_TUNABLES MALLOC_* HOSTALIASES RESOLV_HOST_CONF *SAN_OPTIONS *SAN_SYMBOLIZER_PATH LLVM_* QT_* GTK_* GIO_* GST_* OPENSSL_* PYENV* RBENV_* NODENV_* GOENV_* JENV_* PLENV_* ASDF_* MISE_* RTX_* DIRENV_* TF_* ANSIBLE_* MAGICK_* GS_* TEXMF* TEXINPUTS GHOSTSCRIPT* PSQLRC MYSQL_HOME SQLITE_* SSLKEYLOGFILE SSL_CERT_* TERMINFO* TERMCAP',
  },
  {
    why: 'programs start what it names',
    names:
      'PAGER *_PAGER MANPAGER MANOPT EDITOR VISUAL *_EDITOR BROWSER LESS LESSOPEN LESSCLOSE LESSEDIT LESSKEY* LESSHISTFILE MORE SSH_ASKPASS* SUDO_ASKPASS *_ASKPASS RSYNC_* CVS_RSH SVN_* HG* VIMINIT GVIMINIT EXINIT MYVIMRC VIM VIMRUNTIME EMACS* TAR_OPTIONS TAPE ZIPOPT RIPGREP_CONFIG_PATH FZF_* GREP_OPTIONS ACK* WGETRC CURL_HOME NETRC KUBECONFIG DOCKER_* AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE CLOUDSDK_* PRE_COMMIT* SYSTEMD_*',
    harmless: /^(cat|true|:|)$/,
  },
  {
    why: 'git starts what it names, or what a repository names without it',
    names: 'GIT_*',
    except:
      'GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS',
  },
  {
    why: 'the interpreter loads code from where it says',
    names:
      'NODE_* npm_* NPM_* YARN_* PNPM_* COREPACK_* TS_NODE_* BUN_* DENO_* ELECTRON_* PYTHON* PYTEST_* PIP_* COVERAGE_* TOX_* PERL* RUBY* GEM_* BUNDLE_* RAKEOPT IRBRC PHPRC PHP_* LUA_* R_* ERL_* ELIXIR_* JAVA_* _JAVA_OPTIONS JDK_* CLASSPATH MAVEN_* GRADLE_* SBT_* ANT_* KOTLIN_* DOTNET_* CORECLR_* COMPlus_* COR_* MSBUILD* PSModulePath GHC* OCAML* JULIA_* GUILE_* TCL* TCLLIBPATH AWKPATH AWKLIBPATH M4PATH',
    except:
      'NODE_ENV NODE_NO_WARNINGS NODE_DISABLE_COLORS PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONUTF8',
  },
  {
    why: 'build tools start what it names',
    names:
      'CC CXX CPP COMPILER_PATH GCC_* LIBRARY_PATH CPATH *_INCLUDE_PATH LD AR AS NM FC RANLIB STRIP OBJCOPY HOSTCC *FLAGS PKG_CONFIG* CMAKE_* MAKE MAKEFILES MAKELEVEL GNUMAKEFLAGS CONFIG_SHELL CCACHE_* SCCACHE_* DISTCC_* GOROOT GOPATH GOENV GOTOOL* GOEXPERIMENT GOPROXY GOSUMDB GONOSUMDB CGO_* RUSTC* RUSTDOC* RUSTUP_* CARGO CARGO_* ZIG_* SWIFT_* BAZEL_*',
    except:
      'CARGO_TERM_* CARGO_INCREMENTAL CARGO_TARGET_DIR CARGO_PROFILE_* CARGO_NET_OFFLINE CMAKE_BUILD_TYPE',
    harmless: /^$/,
  },
  { why: 'it leads network traffic elsewhere', names: '*_proxy *_PROXY' },
];

const ROWS = TABLE.map((row) => ({
  why: row.why,
  names: globs(row.names),
  except: row.except === undefined ? undefined : globs(row.except),
  harmless: row.harmless,
}));

function globs(names: string): RegExp {
  return new RegExp(`^(?:${names.split(' ').join('|').replaceAll('*', '.*')})$`);
}
