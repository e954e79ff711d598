// Owns: which files the shell itself opens, and that here-documents end where the parser says.
// Refuses: targets that are not known before running, and the network devices that bash makes up.
import type { HereDoc, Redirection, Redirect as RedirectNode } from 'unbash';
import { type Redirect, refuse, type Span } from './analysis.ts';
import { readWord, visitParts } from './read-word.ts';
import type { Gathered, Walk } from './walk.ts';

export function readRedirect(walk: Walk, redirection: Redirection): void {
  const { descriptor } = redirection;
  if (descriptor?.type === 'FileDescriptorVariable')
    refuse(
      'shell.dynamic',
      `Cannot follow {${descriptor.name}}: use a number for the descriptor`,
      redirection,
    );
  // Bash takes a number that is too large for a word of its own.
  if ((descriptor?.value ?? 0) > 255) notUnderstood(walk, redirection);
  if (walk.dialect === 'sh' && (descriptor?.value ?? 0) > 9) bashOnly(walk, redirection);
  // Over a continued line a number before it would belong to it.
  if (walk.source.slice(Math.max(0, redirection.pos - 2), redirection.pos) === '\\\n')
    notUnderstood(walk, redirection);
  const written = /^([0-9]*)([<>&|-]+)/.exec(walk.source.slice(redirection.pos, redirection.pos + 8));
  const number = descriptor === undefined ? '' : walk.source.slice(descriptor.pos, descriptor.end);
  if (written?.[1] !== number || !written[2]!.startsWith(redirection.operator))
    notUnderstood(walk, redirection);
  (READERS[redirection.type] ?? notUnderstood)(walk, redirection as never);
}

/** Every path that each target may mean once the `cd`s before it ran or failed. */
export function resolveRedirects(gathered: Gathered): Redirect[] {
  return gathered.redirects.map(({ operator, access, path, after, span }) => {
    const changes = gathered.directories.slice(0, after);
    // A loop can bring any change before any redirect.
    const lost = changes.some(({ to }) => to === undefined) || gathered.directories.some(({ loop }) => loop);
    if (path.startsWith('/') || gathered.directories.length === 0)
      return { operator, access, path, candidates: [path] };
    if (lost || changes.length > 4)
      refuse(
        'shell.dynamic',
        `Cannot know where "${path}" lies after a change of directory: write it absolute`,
        span,
      );
    let folders = [''];
    for (const { to } of changes)
      folders = [
        ...folders,
        ...folders.map((folder) => (to!.startsWith('/') ? `${to}/` : `${folder}${to}/`)),
      ];
    return { operator, access, path, candidates: [...new Set(folders.map((folder) => folder + path))] };
  });
}

type Readers = {
  readonly [K in Redirection['type']]: (walk: Walk, node: Extract<Redirection, { type: K }>) => void;
};

const READERS: Readers = {
  Redirect: readFile,
  HereString(walk, node) {
    bashOnly(walk, node);
    if (node.target === undefined) return notUnderstood(walk, node);
    readWord(walk, node.target);
  },
  HereDoc: readHereDoc,
};

const ACCESS: Readonly<Record<string, Redirect['access']>> = {
  '<': 'read',
  '<&': 'read',
  '<>': 'read-write',
  '>': 'write',
  '>>': 'write',
  '>|': 'write',
  '>&': 'write',
  '&>': 'write',
  '&>>': 'write',
};

/** Targets that are streams, not files. */
const STREAM = /^\/dev\/(?:null|zero|stdin|stdout|stderr|fd\/[0-9]+)$/;

function readFile(walk: Walk, node: RedirectNode): void {
  const { operator, target } = node;
  const access = ACCESS[operator];
  if (target === undefined || access === undefined) return notUnderstood(walk, node);
  const word = readWord(walk, target);
  if (target.parts?.length === 1 && target.parts[0]?.type === 'ProcessSubstitution') return;
  const path = word.literal;
  if (path === undefined || path === '')
    refuse('shell.dynamic', `Cannot know which file ${operator} ${word.canonical} opens: name it`, node);
  // Bash expands the word after >& a second time, quotes and all.
  if (operator.endsWith('&') && !/^[\w./+@%:,-]+$/.test(target.text)) notUnderstood(walk, node);
  // `>&-x` is `>&-` and a word `x`, so what starts like a stream must be nothing else.
  if (operator.endsWith('&') && /^[0-9-]/.test(path)) {
    if (!/^(?:[0-9]+-?|-)$/.test(target.text)) notUnderstood(walk, node);
    return;
  }
  if (operator.includes('&')) bashOnly(walk, node);
  if (/^\/+dev\/+(?:tcp|udp)\b/.test(path))
    refuse('shell.wrapper', `Cannot open ${path}: bash makes a network connection of it`, node);
  if (STREAM.test(path)) return;
  walk.gathered.redirects.push({
    operator,
    access,
    path,
    after: walk.gathered.directories.length,
    span: node,
  });
}

/** Plain delimiters only: for odd ones shells disagree on where the text ends. */
const DELIMITER = /^(?:([\w.+:-]+)|'([\w.+: -]+)'|"([\w.+: -]+)"|\\([\w.+:-]+))$/;

function readHereDoc(walk: Walk, node: HereDoc): void {
  const { delimiter, body, closing, operator } = node;
  const name = DELIMITER.exec(delimiter?.text ?? '');
  if (delimiter === undefined || name === null)
    refuse('shell.unparsable', 'Cannot read the here-document: end it with a plain word such as EOF', node);
  const word = name.slice(1).find((group) => group !== undefined);
  const quoted = name[1] === undefined;
  if (closing === undefined)
    refuse('shell.unparsable', `Cannot read the here-document: no line holds just ${delimiter.value}`, node);
  const tabs = operator === '<<-' ? /^\t*/ : /^/;
  const ends = walk.source.slice(closing.pos, closing.end).replace(tabs, '').replace(/\n$/, '');
  const early = body.text.split('\n').some((line) => line.replace(tabs, '') === word);
  if (delimiter.value !== word || delimiter.quoted !== quoted || ends !== word || early)
    return notUnderstood(walk, node);
  if (walk.source.slice(body.pos, body.end) !== body.text) return notUnderstood(walk, node);
  if (walk.hereDocs.length > 400)
    refuse('shell.unparsable', 'Cannot read the command: too many here-documents', node);
  walk.hereDocs.push(body, closing);
  if (quoted) return;
  const { text, pos, end } = body;
  // The lines of the text are joined before anything in it is read, inside its single quotes too.
  if (body.parts?.some((part) => part.type !== 'Literal' && part.text.includes('\\\n')))
    refuse('shell.dynamic', 'Cannot know how bash joins the lines of an expansion in a here-document', node);
  visitParts(walk, body.parts ?? [{ type: 'Literal', text, value: text, pos, end }], text, body);
}

function bashOnly(walk: Walk, span: Span): void {
  if (walk.dialect === 'sh')
    refuse('shell.dynamic', 'Cannot know how sh reads this redirect: it is bash syntax; use bash -c', span);
}

function notUnderstood(_walk: Walk, span: Span): never {
  refuse('shell.unparsable', 'Cannot read the command: a redirect in it is not understood', span);
}
