// Owns: reads.fastq beside it: reads that look like those of a sequencer, the same ones whenever they are made.
// Refuses: chance: what looks random comes from a counter.
// usage: make-reads.ts     (writes reads.fastq and reads.fastq.gz)
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const READS = 40;

export function makeReads(): string {
  const next = numbers(20_240);
  let text = '';
  for (let n = 1; n <= READS; n++) {
    const size = 60 + (next() % 41);
    let [bases, qualities] = ['', ''];
    for (let i = 0; i < size; i++) {
      bases += next() % 97 === 0 ? 'N' : 'ACGT'[next() % 4];
      // Qualities fall towards the end of a read.
      qualities += String.fromCharCode(33 + Math.max(2, 40 - Math.floor(i / 5) - (next() % 12)));
    }
    text += `@haft:${n} length=${size}\n${bases}\n+\n${qualities}\n`;
  }
  return text;
}

/** Without the time that gzip would note. */
export const compressReads = (): Buffer => gzipSync(makeReads(), { level: 9 });

function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 8;
  };
}

if (import.meta.main) {
  writeFileSync(join(import.meta.dirname, 'reads.fastq'), makeReads());
  writeFileSync(join(import.meta.dirname, 'reads.fastq.gz'), compressReads());
}
