import { readFileSync } from 'node:fs';

const { value, depth = 3 } = JSON.parse(readFileSync(0, 'utf8')).input;
const outline = [];

function describe(part, path, left) {
  const kind = Array.isArray(part) ? `array of ${part.length}` : part === null ? 'null' : typeof part;
  outline.push(`${path || '/'} ${kind}`);
  if (typeof part !== 'object' || part === null || left === 0) return;
  // The first of an array stands for all of it.
  const members = Array.isArray(part) ? part.slice(0, 1).map((one) => ['0', one]) : Object.entries(part);
  for (const [name, member] of members) {
    describe(member, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, left - 1);
  }
}

describe(value, '', depth);
process.stdout.write(JSON.stringify({ outline }));
