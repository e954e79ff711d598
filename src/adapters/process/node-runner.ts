// Owns: the Node.js program that calls functions of a pack, one after the other, for as long as it is told to.
// Refuses: to let what a tool prints get into its answer: only lines of progress pass.

/** Speaks as `python-runner` does. */
export const NODE_RUNNER = `
const { createInterface } = require('node:readline');
const { createRequire } = require('node:module');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const pack = process.argv.at(-1);
const raw = process.stdout.write.bind(process.stdout);
const say = (message) => raw(JSON.stringify(message) + '\\n');

const isProgress = (line) => {
  if (!line.trimStart().startsWith('{"progress"')) return false;
  try {
    const message = JSON.parse(line);
    if (Object.keys(message).join() !== 'progress') return false;
    say(message);
    return true;
  } catch {
    return false;
  }
};

const LEFT_OUT = '\\n[... left out ...]\\n';
const bothEnds = (text) => (text.length <= 2048 ? text : text.slice(0, 512) + LEFT_OUT + text.slice(-1500));
let errors = '';
let rest = '';
const rawError = process.stderr.write.bind(process.stderr);
const complain = (text) => {
  errors += text;
  if (errors.length > 8192) errors = errors.slice(0, 512) + LEFT_OUT + errors.slice(-1500);
  rawError(text);
};
const print = (text) => {
  rest += text;
  for (let at = rest.indexOf('\\n'); at !== -1; at = rest.indexOf('\\n')) {
    const line = rest.slice(0, at + 1);
    rest = rest.slice(at + 1);
    if (!isProgress(line)) complain(line);
  }
};
const replacing = (take) => (chunk, encoding, done) => {
  take(String(chunk));
  (typeof encoding === 'function' ? encoding : done)?.();
  return true;
};
process.stderr.write = replacing(complain);
process.stdout.write = replacing(print);

const progress = (pct, message) => say({ progress: { pct, message } });

const call = async (frame) => {
  const from = frame.file ? join(pack, frame.file) : createRequire(join(pack, frame.folders[0], '_')).resolve(frame.module);
  const loaded = await import(from.startsWith('/') ? pathToFileURL(from) : from);
  const found = loaded[frame.callable] ?? loaded.default?.[frame.callable];
  if (typeof found !== 'function') throw new Error('it exports no function "' + frame.callable + '"');
  return found(frame.input, { action: frame.action, config: frame.config ?? {}, progress });
};

const serve = async (frame) => {
  errors = '';
  try {
    const data = await call(frame);
    say({ ok: true, data: data === undefined ? null : data });
  } catch (error) {
    complain((error?.stack ?? String(error)) + '\\n');
    const message = error instanceof Error ? error.name + ': ' + error.message : String(error);
    say({ ok: false, error: { message, details: { stderr: bothEnds(errors) } } });
  }
};

let last = Promise.resolve();
createInterface({ input: process.stdin }).on('line', (line) => {
  last = last.then(() => serve(JSON.parse(line)));
});
`;
