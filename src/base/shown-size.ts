// Owns: sizes as people read them.
// Refuses: to be read back: JSON has the bytes.

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function shownSize(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < SIZES.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${SIZES[unit]}`;
}
