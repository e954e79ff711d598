// Owns: just enough of DNS to answer questions for addresses.
// Refuses: every other kind of record: it answers that there is none.

/** The name that is asked for, in lower case. */
export function nameIn(query: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; query[at]; at += query[at]! + 1) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
  }
  return labels.join('.').toLowerCase();
}

/** The answer with these IPv4 addresses, and whether they were what was asked for. */
export function answerTo(query: Buffer, addresses: readonly string[]): { bytes: Buffer; isAddress: boolean } {
  const end = query.indexOf(0, 12) + 5;
  const isAddress = query.readUInt16BE(end - 4) === 1;
  const records = isAddress ? addresses.map(record) : [];
  const head = Buffer.from(query.subarray(0, 12));
  // An answer, recursion available; no such name where there is nothing at all.
  head.writeUInt16BE(addresses.length > 0 ? 0x8180 : 0x8183, 2);
  for (const [index, count] of [1, records.length, 0, 0].entries()) head.writeUInt16BE(count, 4 + 2 * index);
  return { bytes: Buffer.concat([head, query.subarray(12, end), ...records]), isAddress };
}

/** The name is that of the question; it may not be kept. */
const record = (address: string): Buffer =>
  Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]);
