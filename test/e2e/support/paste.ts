// Owns: what a person does with the lines that a denial prints: change the entry if it is there, and its examples; else add it.
// Refuses: to understand YAML: lines go in as they were printed, at the place that their keys name.

/** A line with all that is indented below it. */
interface Block {
  line: string;
  readonly below: Block[];
}

/** `file` is written in blocks, as haft init does; so are the lines that are printed. */
export function paste(file: string, printed: string): string {
  const whole = blocksOf(file);
  for (const block of blocksOf(printed)) put(whole, block);
  return textOf(whole);
}

function put(among: Block[], block: Block): void {
  const same = among.find((one) => isSame(one, block));
  if (!same) among.push(block);
  else if (block.below.length === 0) same.line = block.line;
  else for (const one of block.below) put(same.below, one);
  // What the rule was for is no longer so.
  if (same && isEntry(same))
    same.below.splice(0, same.below.length, ...same.below.filter(({ line }) => line !== 'examples:'));
}

/** The same key; of entries of a list the same rule, which may decide something else. */
function isSame(one: Block, other: Block): boolean {
  if (isEntry(one) !== isEntry(other)) return false;
  return isEntry(one) ? ruleOf(one) === ruleOf(other) : keyOf(one) === keyOf(other);
}

const isEntry = ({ line }: Block): boolean => line.startsWith('- ');
const keyOf = ({ line }: Block): string => line.replace(/:( .*)?$/, '');
const plain = (line: string): string => line.replace(/^- /, '').replaceAll(/['"]/g, '');

const SAYS = /^(decision|read|write|private|examples):/;
const ruleOf = ({ line, below }: Block): string =>
  [plain(line), ...below.filter((one) => !SAYS.test(one.line)).map((one) => plain(textOf([one])))].join('\n');

/** An entry's further keys are below its first, wherever they are indented to. */
function blocksOf(text: string): Block[] {
  const top: Block[] = [];
  const open: { readonly indent: number; readonly list: Block[] }[] = [{ indent: -1, list: top }];
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const indent = line.length - line.trimStart().length;
    while (open.at(-1)!.indent >= indent) open.pop();
    const block: Block = { line: line.trim(), below: [] };
    open.at(-1)!.list.push(block);
    open.push({ indent, list: block.below });
  }
  return top;
}

function textOf(blocks: readonly Block[], indent = ''): string {
  return blocks.map(({ line, below }) => `${indent}${line}\n${textOf(below, `${indent}  `)}`).join('');
}
