// Owns: programs that can be told by an option to start others, with the options that do not.
// Refuses: to be complete: an option that is not here is refused.
import type { Inspected } from './call.ts';

/** A name with a colon before any slash is on another machine. */
const REMOTE = /^[^/]*:/;

export const INSPECTED: readonly (readonly [names: string, spec: Inspected])[] = [
  [
    'tar gtar bsdtar',
    {
      // Not -M, at whose prompt `!` is a shell, nor -W, which for bsdtar is any long option, nor -T, whose lines may be options.
      letters: 'cxtruAdvzjJZaphkmOPSUGnwBilRso',
      values: 'bCfgHKNVX',
      long: 'absolute-names acls anchored append atime-preserve auto-compress backup block-number bzip2 catenate check-device check-links checkpoint clamp-mtime compare compress concatenate confirmation create delay-directory-restore delete dereference diff exclude-backups exclude-caches exclude-caches-all exclude-caches-under exclude-vcs exclude-vcs-ignores extract force-local full-time get gunzip gzip hard-dereference help ignore-case ignore-command-error ignore-failed-read ignore-zeros incremental interactive keep-directory-symlink keep-newer-files keep-old-files list lzip lzma lzop no-acls no-anchored no-auto-compress no-check-device no-delay-directory-restore no-ignore-case no-ignore-command-error no-null no-overwrite-dir no-recursion no-same-owner no-same-permissions no-seek no-selinux no-unquote no-wildcards no-wildcards-match-slash no-xattrs null numeric-owner occurrence old-archive one-file-system one-top-level overwrite overwrite-dir portability posix preserve-order preserve-permissions read-full-records recursion recursive-unlink remove-files restrict same-order same-owner same-permissions seek selinux show-defaults show-omitted-dirs show-stored-names show-transformed-names skip-old-files sparse test-label to-stdout totals touch uncompress ungzip unlink-first unquote update usage utc verbose verify version wildcards wildcards-match-slash xattrs xz zstd',
      longValues:
        'add-file after-date blocking-factor directory exclude exclude-from exclude-ignore exclude-ignore-recursive exclude-tag exclude-tag-all exclude-tag-under file format group group-map hole-detection index-file label level listed-incremental mode mtime newer newer-mtime no-quote-chars owner owner-map pax-option quote-chars quoting-style record-size sort sparse-version starting-file strip-components suffix transform warning xattrs-exclude xattrs-include xform',
      bundled: true,
      remote: REMOTE,
    },
  ],
  [
    'rsync',
    {
      letters: 'vqcarRbudlLkKHpEAXogDtNOJSnWxzhPiymIC0F46s8',
      values: 'BTf@',
      long: 'acls append append-verify archive backup checksum compress copy-dirlinks copy-links copy-unsafe-links cvs-exclude del delay-updates delete delete-after delete-before delete-delay delete-during delete-excluded devices dirs dry-run executability existing force from0 fuzzy group hard-links help human-readable ignore-errors ignore-existing ignore-times inplace ipv4 ipv6 itemize-changes keep-dirlinks links list-only numeric-ids omit-dir-times omit-link-times one-file-system owner partial perms preallocate progress prune-empty-dirs quiet recursive relative remove-source-files safe-links size-only sparse specials stats times update verbose version whole-file xattrs',
      longValues:
        'backup-dir block-size bwlimit chmod compare-dest compress-choice compress-level copy-dest debug exclude exclude-from files-from filter include include-from info link-dest log-file log-file-format max-delete max-size min-size modify-window out-format outbuf partial-dir skip-compress suffix temp-dir timeout',
      negatable: true,
      remote: REMOTE,
    },
  ],
  [
    'rg',
    {
      letters: 'bscFLh.ivnxUIN0opqPSzauVHwl',
      values: 'ABCEfgMmerjtTd',
      long: 'auto-hybrid-regex binary block-buffered byte-offset case-sensitive column count count-matches crlf debug files files-with-matches files-without-match fixed-strings follow glob-case-insensitive heading help hidden ignore ignore-case ignore-dot ignore-exclude ignore-file-case-insensitive ignore-files ignore-global ignore-messages ignore-parent ignore-vcs include-zero invert-match json line-buffered line-number line-regexp max-columns-preview messages mmap multiline multiline-dotall no-config no-filename null null-data one-file-system only-matching passthrough passthru pcre2 pcre2-unicode pcre2-version pretty quiet require-git search-zip smart-case stats stop-on-nonmatch text trace trim type-list unicode unrestricted version vimgrep with-filename word-regexp',
      longValues:
        'after-context before-context color colors context context-separator dfa-size-limit encoding engine field-context-separator field-match-separator file glob iglob ignore-file max-columns max-count max-depth max-filesize maxdepth path-separator pre-glob regex-size-limit regexp replace sort sortr threads type type-add type-clear type-not',
      negatable: true,
    },
  ],
  [
    'fd fdfind',
    {
      // Not -l, which starts ls.
      letters: 'HIsigFapLu0qhV1',
      values: 'dtEeScoj',
      long: 'absolute-path case-sensitive fixed-strings follow full-path glob help hidden ignore-case no-ignore no-ignore-parent no-ignore-vcs one-file-system print0 prune quiet regex show-errors strip-cwd-prefix unrestricted version',
      longValues:
        'and base-directory changed-before changed-within color exact-depth exclude extension format ignore-file max-depth max-results min-depth newer older owner path-separator search-path size threads type',
    },
  ],
  [
    'sort gsort',
    {
      letters: 'bdfghiMnRrVcCmsuz',
      values: 'kotTS',
      long: 'check debug dictionary-order general-numeric-sort help human-numeric-sort ignore-case ignore-leading-blanks ignore-nonprinting merge month-sort numeric-sort random-sort reverse stable unique version version-sort zero-terminated',
      longValues:
        'batch-size buffer-size field-separator files0-from key output parallel random-source sort temporary-directory',
    },
  ],
  [
    'split gsplit',
    {
      letters: 'deux',
      values: 'abClnt',
      digits: true,
      long: 'elide-empty-files help hex-suffixes numeric-suffixes unbuffered verbose version',
      longValues: 'additional-suffix bytes line-bytes lines number separator suffix-length',
    },
  ],
  [
    'zip',
    {
      letters: 'rqjmudyvXDoeg0123456789@fzkix',
      values: 'btnPZ',
      long: 'copy-entries delete exclude filesync freshen include junk-paths move no-dir-entries no-extra quiet recurse-paths symlinks update verbose version',
      longValues: 'compression-method suffixes temp-path',
    },
  ],
  [
    'cpio',
    {
      letters: 'oipdumvVABcLaklnrstb0f',
      values: 'CDEFHIOR',
      long: 'absolute-filenames append create dereference dot extract help link list make-directories no-absolute-filenames nonmatching no-preserve-owner null numeric-uid-gid only-verify-crc pass-through preserve-modification-time quiet reset-access-time sparse unconditional verbose version',
      longValues: 'block-size directory file format owner pattern-file',
      remote: REMOTE,
    },
  ],
  [
    'wget',
    {
      letters: 'VhbdqvFcNS46xErkKmpHL',
      values: 'oaiBtOTwQPUlARDIXn',
      long: 'adjust-extension auth-no-challenge background backup-converted backups cache check-certificate clobber content-disposition content-on-error continue convert-file-only convert-links cookies debug delete-after directories dns-cache follow-ftp force-directories force-html ftps-clear-data-connection ftps-fallback-to-ftp ftps-implicit ftps-resume-ssl glob help host-directories hsts http-keep-alive https-only if-modified-since ignore-case ignore-length inet4-only inet6-only iri keep-session-cookies mirror netrc no-config page-requisites parent passive-ftp preserve-permissions protocol-directories proxy quiet random-wait recursive relative remove-listing retr-symlinks retry-connrefused save-headers server-response show-progress span-hosts spider strict-comments timestamping trust-server-names unlink use-server-timestamps verbose version warc-cdx warc-compression warc-digests warc-keep-log xattr',
      longValues:
        'accept accept-regex append-output base bind-address body-data body-file ca-certificate ca-directory certificate certificate-type ciphers compression connect-timeout crl-file cut-dirs default-page directory-prefix dns-timeout domains exclude-directories exclude-domains follow-tags ftp-password ftp-user header hsts-file http-password http-user ignore-tags include-directories input-file level limit-rate load-cookies local-encoding max-redirect method output-document output-file password pinnedpubkey post-data post-file prefer-family private-key private-key-type progress proxy-password proxy-user quota read-timeout referer regex-type reject reject-regex rejected-log remote-encoding report-speed restrict-file-names retry-on-http-error save-cookies secure-protocol start-pos timeout tries user user-agent wait waitretry warc-dedup warc-file warc-header warc-max-size warc-tempdir',
      negatable: true,
    },
  ],
  [
    'curl',
    {
      letters: 'aqfGgIiklLMnNZ012346#pjJORsSBvV:h',
      values: 'EbCcdDFPHmoxUQrtXeyYzTuAw',
      long: 'alpn anyauth append basic buffer cert-status clobber compressed create-dirs crlf digest disable disable-eprt disable-epsv disallow-username-in-url doh-cert-status doh-insecure fail fail-early fail-with-body false-start form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-control get globoff head help http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only ignore-content-length include insecure ipv4 ipv6 junk-session-cookies keepalive list-only location location-trusted manual negotiate next ntlm parallel parallel-immediate path-as-is post301 post302 post303 progress-bar progress-meter proxy-anyauth proxy-basic proxy-digest proxy-insecure proxy-ntlm proxytunnel raw remote-header-name remote-name remote-name-all remote-time remove-on-error retry-all-errors retry-connrefused sasl-ir sessionid show-error silent ssl ssl-reqd styled-output suppress-connect-headers tcp-fastopen tcp-nodelay tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace-time use-ascii verbose version xattr',
      longValues:
        'aws-sigv4 cacert capath cert cert-type ciphers connect-timeout connect-to continue-at cookie cookie-jar create-file-mode crlfile curves data data-ascii data-binary data-raw data-urlencode dns-servers doh-url dump-header etag-compare etag-save expect100-timeout form form-string happy-eyeballs-timeout-ms header hsts interface json keepalive-time key key-type limit-rate local-port max-filesize max-redirs max-time noproxy oauth2-bearer output output-dir parallel-max pass pinnedpubkey proto proto-default proto-redir proxy proxy-cacert proxy-header proxy-user quote range rate referer request request-target resolve retry retry-delay retry-max-time socks4 socks4a socks5 socks5-hostname speed-limit speed-time stderr time-cond tls-max tls13-ciphers trace trace-ascii upload-file url url-query user user-agent write-out',
      negatable: true,
    },
  ],
  [
    'install ginstall',
    {
      letters: 'bcCdDpsvTZ',
      values: 'gmotS',
      long: 'backup compare context directory help no-target-directory preserve-context preserve-timestamps strip verbose version',
      longValues: 'group mode owner suffix target-directory',
    },
  ],
  [
    'ctest',
    {
      letters: 'VQNF',
      values: 'jRELCO',
      long: 'debug extra-verbose help no-tests output-on-failure progress quiet rerun-failed schedule-random show-only stop-on-failure verbose version',
      longValues:
        'build-config exclude-regex label-exclude label-regex output-junit output-log parallel preset repeat stop-time test-dir test-load tests-regex timeout',
    },
  ],
  // These take a program to compare with.
  [
    'diff3',
    {
      letters: 'AeEimxX3Tav',
      values: 'L',
      long: 'ed easy-only help initial-tab merge overlap-only show-all show-overlap strip-trailing-cr text version',
      longValues: 'label',
    },
  ],
  [
    'sdiff',
    {
      letters: 'abBdEHilstvWZ',
      values: 'Iw',
      long: 'expand-tabs help ignore-all-space ignore-blank-lines ignore-case ignore-space-change ignore-tab-expansion ignore-trailing-space left-column minimal speed-large-files strip-trailing-cr suppress-common-lines text version',
      longValues: 'ignore-matching-lines tabsize width',
    },
  ],
  // And these one to page with.
  [
    'ag ack',
    {
      letters: 'acDfFgHilLnoQrRsStuUvwWz0',
      values: 'ABCGm',
      long: 'all-text all-types case-sensitive color column count files-with-matches files-without-matches fixed-strings hidden ignore-case invert-match line-numbers literal nocolor nofilename nogroup nopager numbers smart-case stats version word-regexp',
      longValues: 'after before context depth ignore max-count',
    },
  ],
  [
    'bat batcat',
    {
      letters: 'pnAhuV',
      values: 'lrHm',
      long: 'diff help list-languages list-themes number plain show-all unbuffered version',
      longValues:
        'color decorations file-name highlight-line italic-text language line-range map-syntax style tabs terminal-width theme wrap',
    },
  ],
];
