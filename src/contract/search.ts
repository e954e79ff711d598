// Owns: `ctx.search`: what it means to search the content of files, and the names of the file types there are.
// Refuses: to say how; an engine must be linear in the text, whatever the pattern.

/**
 * Searches files below the workspace root. Only what policy lets tools see is found (`scope.visible`), never anything in
 * `.git` or `.haft`, never anything behind a link. What is answered was in the named file while the call ran: a link that
 * is swapped in meanwhile shows nothing of where it leads.
 */
export interface SearchHandle {
  /**
   * Asks `scope.admit` for reading the folder that the glob begins with, and everything below it. Throws `input.pattern`
   * and `input.glob`, and what the signal aborted with. Where the folder is not there nothing is found.
   */
  search(query: SearchQuery): Promise<SearchResult>;
}

export interface SearchQuery {
  /**
   * A regular expression in the syntax of Rust's regex crate (as ripgrep takes it by default): no look-around and no
   * back-references, which no engine can match in linear time. With `fixedStrings`, plain text.
   */
  readonly pattern: string;
  readonly fixedStrings: boolean;
  readonly caseSensitive: boolean;
  /** A match may span lines. `.` still stops at a line's end, unless the pattern says `(?s)`. */
  readonly multiline: boolean;
  /**
   * Relative to the workspace root, as for listings: what it spells out before its first wildcard is taken at its word,
   * also where that is hidden or ignored. One that names a folder means everything in it.
   */
  readonly glob: string;
  /** Only files of one of these types. Empty: of any. */
  readonly fileTypes: readonly FileType[];
  /** Also files and folders whose names begin with a dot. */
  readonly includeHidden: boolean;
  /** Also what .gitignore files ignore, and folders of dependencies (`VENDOR_FOLDERS`). */
  readonly includeIgnored: boolean;
  /** `matches`: lines. `files`: which files have one. `count`: how many lines each file has. */
  readonly mode: SearchMode;
  /** Of matches, or of files; the first ones in bytewise order of paths, then in order of lines. */
  readonly maxResults: number;
  /** How many lines before and after a match are answered with it. Only in mode `matches`. */
  readonly contextBefore: number;
  readonly contextAfter: number;
  /** A line longer than this is cut, around the match. */
  readonly maxLineBytes: number;
}

export type SearchMode = 'matches' | 'files' | 'count';

export interface SearchResult {
  /** In mode `matches`; else empty. */
  readonly matches: readonly SearchMatch[];
  /** In the other modes; else empty. */
  readonly files: readonly FileCount[];
  /** There is more than was asked for, or than an answer can hold (`MAX_ANSWER_BYTES`). */
  readonly truncated: boolean;
}

/**
 * A line that matches; with `multiline`, all lines that a match spans (of matches that begin in the same line only the
 * first is told). Text is counted as it is searched: UTF-16 with a byte order mark becomes UTF-8 first, and a byte order
 * mark is not counted.
 */
export interface SearchMatch {
  /** Relative to the workspace root. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Where the first match in the line begins: a byte, counted from 1. */
  readonly col: number;
  /** Without its line terminator. Bytes that are not UTF-8 are shown as U+FFFD. */
  readonly snippet: string;
  /** The last line, where the match spans several. */
  readonly endLine?: number;
  /** Only where the snippet was cut: the column at which it begins. */
  readonly snippetCol?: number;
  /** Only where the snippet's bytes are not UTF-8: those bytes, in base64. */
  readonly snippetBase64?: string;
  /** The lines around it, nearest last and nearest first. Absent where no context was asked for. */
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

export interface FileCount {
  readonly file: string;
  /** How many lines match; with `multiline`, how many matches there are. */
  readonly count: number;
}

/** An answer stops growing here, and says that it is truncated. */
export const MAX_ANSWER_BYTES = 28 * 1024 * 1024;

/** Folders of other people's code, left out at any depth unless `includeIgnored` or the glob spells them out. */
export const VENDOR_FOLDERS: readonly string[] = Object.freeze([
  '__pycache__',
  'bower_components',
  'jspm_packages',
  'node_modules',
  'site-packages',
  'vendor',
  'venv',
]);

/** File types by the names of their files. `*` stands for any characters. */
export const FILE_TYPES = Object.freeze({
  c: ['*.c', '*.h'],
  clojure: ['*.clj', '*.cljc', '*.cljs', '*.edn'],
  cmake: ['*.cmake', 'CMakeLists.txt'],
  config: ['*.cfg', '*.conf', '*.ini', '*.properties', '*.toml'],
  cpp: ['*.C', '*.H', '*.cc', '*.cpp', '*.cxx', '*.h', '*.hh', '*.hpp', '*.hxx', '*.inl', '*.ipp'],
  csharp: ['*.cs', '*.csx'],
  css: ['*.css', '*.less', '*.sass', '*.scss'],
  csv: ['*.csv', '*.tsv'],
  dart: ['*.dart'],
  docker: ['*.dockerfile', 'Containerfile', 'Dockerfile', 'Dockerfile.*'],
  elixir: ['*.eex', '*.ex', '*.exs', '*.heex'],
  erlang: ['*.erl', '*.hrl'],
  fsharp: ['*.fs', '*.fsi', '*.fsx'],
  go: ['*.go', 'go.mod', 'go.sum', 'go.work'],
  graphql: ['*.gql', '*.graphql'],
  groovy: ['*.gradle', '*.groovy'],
  haskell: ['*.cabal', '*.hs', '*.lhs'],
  html: ['*.htm', '*.html', '*.xhtml'],
  java: ['*.java', '*.jsp'],
  js: ['*.cjs', '*.js', '*.jsx', '*.mjs'],
  json: ['*.json', '*.json5', '*.jsonc', '*.jsonl', '*.ndjson'],
  julia: ['*.jl'],
  kotlin: ['*.kt', '*.kts'],
  lua: ['*.lua'],
  make: ['*.mak', '*.mk', 'GNUmakefile', 'Makefile', 'makefile'],
  markdown: ['*.markdown', '*.md', '*.mdx'],
  nix: ['*.nix'],
  objc: ['*.h', '*.m', '*.mm'],
  ocaml: ['*.ml', '*.mli', '*.mll', '*.mly'],
  perl: ['*.pl', '*.pm', '*.t'],
  php: ['*.php', '*.phtml'],
  proto: ['*.proto'],
  python: ['*.py', '*.pyi', '*.pyw', '*.pyx'],
  r: ['*.R', '*.Rmd', '*.r'],
  ruby: ['*.erb', '*.gemspec', '*.rake', '*.rb', 'Gemfile', 'Rakefile'],
  rust: ['*.rs', 'Cargo.lock', 'Cargo.toml'],
  scala: ['*.sbt', '*.scala'],
  shell: ['*.bash', '*.fish', '*.sh', '*.zsh'],
  sql: ['*.sql'],
  svelte: ['*.svelte'],
  swift: ['*.swift'],
  terraform: ['*.hcl', '*.tf', '*.tfvars'],
  tex: ['*.bib', '*.cls', '*.sty', '*.tex'],
  text: ['*.log', '*.rst', '*.txt', 'LICENSE', 'NOTICE', 'README'],
  ts: ['*.cts', '*.mts', '*.ts', '*.tsx'],
  vue: ['*.vue'],
  xml: ['*.svg', '*.wsdl', '*.xml', '*.xsd', '*.xsl', '*.xslt'],
  yaml: ['*.yaml', '*.yml'],
  zig: ['*.zig'],
} as const satisfies { readonly [type: string]: readonly string[] });

export type FileType = keyof typeof FILE_TYPES;
