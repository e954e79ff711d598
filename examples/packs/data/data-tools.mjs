// Functions behind the tools of this folder: each takes the input and answers the data.

export function query({ value, pointer }) {
  if (pointer !== '' && !pointer.startsWith('/')) throw new Error('a pointer is empty or begins with /');
  const names = pointer.split('/').slice(1);
  let at = value;
  for (const name of names.map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~'))) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return { found: false };
    at = at[name];
  }
  return { found: true, value: at };
}

export function sort({ rows, by }) {
  const columns = by.map((name) => (name.startsWith('-') ? [name.slice(1), -1] : [name, 1]));
  const compare = (a, b) => {
    for (const [name, direction] of columns) {
      const order = compareValues(a[name], b[name]);
      if (order !== 0) return order * direction;
    }
    return 0;
  };
  return { rows: rows.toSorted(compare) };
}

function compareValues(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [String(a ?? ''), String(b ?? '')];
  return left < right ? -1 : Number(left > right);
}
