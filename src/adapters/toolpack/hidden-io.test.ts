import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { JsonObject } from '../../contract/json.ts';
import type { OpenPack } from '../../contract/runtime.ts';
import { GOOD, OTHER_ID, type PackFixture, TEXT, TEXT_ID, withPacks } from './toolpack-for-tests.ts';

/** What a pack may put into its params although it differs from machine to machine, from call to call. */
const UNSTABLE: Readonly<Record<string, string>> = {
  'the time': 'Date.now()',
  'the year': 'new Date().getFullYear()',
  'the day, as Intl says it': 'new Intl.DateTimeFormat("en", { dateStyle: "full" }).format()',
  'the date as text': 'Date()',
  'the hour here': 'new Date(0).getHours()',
  'the host name': 'os.hostname()',
  'the host name of a named import': 'hostname()',
  'the locale': '(1234567.5).toLocaleString()',
  'the order of the locale': 'Intl.Collator().resolvedOptions().locale',
  'a variable': 'process.env.USER',
  'which variables there are': 'Object.keys(process.env).sort().join()',
  'a random number': 'Math.random()',
  'a random id': 'crypto.randomUUID()',
  'how many calls came before': '++count',
  'where the pack lies': 'import.meta.url',
  'when the pack was written': 'fs.statSync(import.meta.filename).mtimeMs',
  'how many processors there are': 'os.availableParallelism()',
  'how much memory there is': 'os.totalmem()',
  'the version of Node.js': 'process.version',
  'the version of Node.js, imported by name': 'version',
  'the version of V8': 'process.versions.v8',
  'the release of Node.js': 'process.release.lts',
  'how Node.js was built': 'Object.keys(process.config.variables).length',
  'the user agent': 'navigator.userAgent',
  'the processors of a browser': 'navigator.hardwareConcurrency',
  'the language of a browser': 'navigator.language',
  'the release of the kernel': 'os.release()',
  'the release of the kernel, by require': "createRequire(import.meta.url)('os').release()",
  'the release of the kernel, by an import later': "(await import('node:os')).release()",
  'the version of the kernel': 'os.version()',
  'the machine': 'os.machine()',
  'the architecture': 'process.arch',
  'the architecture of os': 'os.arch()',
  'the platform': 'process.platform',
  'the platform of os': 'os.platform() + os.type()',
  'the model of the processor': 'os.cpus()[0].model',
  'how long the machine runs': 'Math.floor(os.uptime() / 1e6)',
  'how long the process runs': 'Math.floor(process.uptime() / 1e6)',
  'the load': 'os.loadavg()[0]',
  'the memory that is free': 'os.freemem()',
  'the memory that is available': 'process.availableMemory()',
  'the memory that may be used': 'process.constrainedMemory()',
  'the memory that is used': 'Math.floor(process.memoryUsage().rss / 2 ** 40) + process.memoryUsage.rss()',
  'its user id': 'process.getuid()',
  'its user name': 'os.userInfo().username',
  'its home': 'os.homedir()',
  'its home as a variable': 'process.env.HOME',
  'its search path': 'process.env.PATH',
  'a place for temporary files': 'os.tmpdir()',
  'who owns the pack': 'fs.statSync(import.meta.filename).uid',
  'the disk of the pack': '(await fs.promises.stat(import.meta.filename)).dev',
  'its process id': 'process.pid',
  'its parent': 'process.ppid',
  'its folder': 'process.cwd()',
  'its folder by a relative path': "process.getBuiltinModule('path').resolve('data.json')",
  'its command line': 'process.argv.join()',
  'where Node.js lies': 'process.execPath',
  'its title': 'process.title',
  'its priority': 'os.getPriority()',
  'its umask': 'process.umask()',
  'network interfaces': 'Object.keys(os.networkInterfaces()).join() + JSON.stringify(os.networkInterfaces())',
  'the time zone': 'Intl.DateTimeFormat().resolvedOptions().timeZone',
  'the parts of the day': 'new Intl.DateTimeFormat("en").formatToParts().map(({ value }) => value).join("")',
  'a clock that counts, in hours': 'Math.floor(performance.now() / 3.6e6)',
  'a clock that counts, in days': 'Math.floor(process.hrtime()[0] / 86400)',
  'a clock that counts nanoseconds': 'String(process.hrtime.bigint() / 86_400_000_000_000n)',
  'when the process began': 'new Date(performance.timeOrigin).getUTCFullYear()',
  'when a mark was made': 'Math.floor(performance.mark("x").startTime / 3.6e6)',
  'when an event was made': 'Math.floor(new Event("x").timeStamp / 3.6e6)',
  'when a file was made': 'new Date(new File([], "x").lastModified).getUTCFullYear()',
  'a random bit': 'Math.random() < 0.5',
  'a random choice of three': 'Math.floor(Math.random() * 3)',
  'a rare event': 'Math.random() < 0.01',
  'a random order': '[1, 2, 3, 4, 5].sort(() => Math.random() - 0.5).join()',
  'a random bit of the web': 'crypto.getRandomValues(new Uint8Array(1))[0] & 1',
  'a random choice of three of the web': 'crypto.getRandomValues(new Uint32Array(1))[0] % 3',
  'a random bit of a method that was taken':
    'Crypto.prototype.getRandomValues.call(crypto, new Uint8Array(1))[0] & 1',
  'a random bit by name': 'randomBytes(1)[0] & 1',
  'a random bit of the web by name': 'webcrypto.getRandomValues(new Uint8Array(1))[0] & 1',
  'a random bit of getRandomValues by name': 'getRandomValues(new Uint8Array(1))[0] & 1',
  'a random bit by require': "createRequire(import.meta.url)('crypto').randomInt(2)",
  'a random bit as a number': 'randomInt(2)',
  'a random number from one to three': 'randomInt(1, 4)',
  'a random number later': 'await new Promise((done) => randomInt(2, (_, n) => done(n)))',
  'a random byte below sixteen': 'randomBytes(1)[0] < 16',
  'a random bit that was filled in': 'randomFillSync(new Uint8Array(1))[0] & 1',
  'a random bit that was filled in at a place': 'randomFillSync(new Uint16Array(3), 1, 1)[1] & 1',
  'a random bit that was filled in later':
    'await new Promise((done) => randomFill(new Uint8Array(1), (_, [byte]) => done(byte & 1)))',
  'a random bit later': 'await new Promise((done) => randomBytes(1, (_, [byte]) => done(byte & 1)))',
  'a random bit of an id': 'Number.parseInt(crypto.randomUUID()[0], 16) & 1',
  'a random bit of an id by name': 'Number.parseInt(randomUUID()[35], 16) & 1',
  'a random bit of its module': 'atLoad',
  'a random bit after a wait': '(await new Promise((done) => setTimeout(done, 1)), Math.random() < 0.5)',
  'how long something took': '((from) => Date.now() - from)(Date.now())',
  'how long something took, finely': '((from) => performance.now() - from)(performance.now())',
  'how long something took, in nanoseconds': '((from) => process.hrtime(from)[1])(process.hrtime())',
  'which hashes there are': "process.getBuiltinModule('crypto').getHashes().length",
  'the memory of the heap': 'process.memoryUsage().heapUsed',
  'the work of the processor': 'process.cpuUsage().user',
  'when its folder was made': 'fs.statSync(import.meta.dirname).mtimeMs',
  'when its copy was made': 'fs.statSync(import.meta.filename).ctimeMs',
  'when its copy was made, later': 'Number((await fs.promises.stat(import.meta.filename)).birthtime)',
  'when its copy was read':
    'await new Promise((done) => fs.stat(import.meta.filename, (_, stats) => done(stats.atimeMs)))',
  'the node of its copy': '(await (await fs.promises.open(import.meta.filename)).stat()).ino',
  'random bytes': "process.getBuiltinModule('crypto').randomBytes(8).toString('hex')",
  'a random number below ten million': "process.getBuiltinModule('crypto').randomInt(1e7)",
};

/** What it may try to reach. Each answers what it got, or the code of the refusal. */
const BLOCKED: Readonly<Record<string, string>> = {
  'a file of the machine': "fs.readFileSync('/etc/passwd', 'utf8').length",
  'a program of the machine': "fs.readFileSync('/usr/bin/env').length",
  'a file of the workspace': "fs.readFileSync(args.secret, 'utf8')",
  'the pack where it really lies':
    "fs.readFileSync(args.secret.replace('secret.txt', 'pack1/toolpack.js'), 'utf8').length",
  'a test of its own': "fs.readFileSync(new URL('toolpack.test.ts', import.meta.url), 'utf8')",
  'the environment of the host': "fs.readFileSync('/proc/self/environ', 'utf8')",
  'a place to write': "fs.writeFileSync('/tmp/x', '1')",
  'its own files to write': "fs.writeFileSync(import.meta.filename, '')",
  'another program': "process.getBuiltinModule('child_process').execFileSync('/bin/true').length",
  'a thread': "(new (process.getBuiltinModule('worker_threads').Worker)('1', { eval: true }), 1)",
  'a port of this machine': 'await connect({ host: "127.0.0.1", port: args.port })',
  'a host of the network': 'await connect({ host: "192.0.2.1", port: 80 })',
  'the free space of a disk': 'fs.statfsSync(import.meta.dirname).bfree',
  'the free space of a disk later': '(await fs.promises.statfs(import.meta.dirname)).bfree',
  'the clock of a database':
    "new (await import('node:sqlite')).DatabaseSync(':memory:').prepare(\"select date('now') v\").get().v",
  'the clock of a database, required': "createRequire(import.meta.url)('node:sqlite') && 'sqlite'",
  'the clock of an HTTP answer': "process.getBuiltinModule('http') && 'http'",
  'the certificates of the machine': "(await import('tls')).getCACertificates('system').length",
  'the clock of a server by an old name': "createRequire(import.meta.url)('_http_server') && 'http'",
  'the clock of a server by the loader': "process.getBuiltinModule('module')._load('http') && 'http'",
  'the clock of a server from a module in a URL':
    "(await import('data:text/javascript,export * from \"http\"')) && 'http'",
  'hooks of its own': "process.getBuiltinModule('module').registerHooks({}) && 'hooks'",
  'a histogram': "(await import('node:perf_hooks')).createHistogram().count",
  'WASI, which has clocks': "(await import('node:wasi')) && 'wasi'",
  'the test runner': "(await import('node:test')) && 'test'",
  'a new key': "process.getBuiltinModule('crypto').generateKeySync('hmac', { length: 64 }).export()[0] & 1",
  'a new pair of keys': "process.getBuiltinModule('crypto').generateKeyPairSync('ed25519') && 'keys'",
  'a new key of the web':
    "(await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])) && 'key'",
  'a new secret': "process.getBuiltinModule('crypto').createECDH('prime256v1').generateKeys()[1] & 1",
  'the number of what runs': "process.getBuiltinModule('async_hooks').executionAsyncId() & 1",
  'what is active': 'process.getActiveResourcesInfo().length',
  'the order of the disk': 'fs.opendirSync(import.meta.dirname).readSync().name',
  'an id of an object': 'URL.createObjectURL(new Blob([])).length',
  'a channel': "new MessageChannel() && 'channel'",
  'the version of V8 as it caches code': "process.getBuiltinModule('v8').cachedDataVersionTag()",
  'the heap': "process.getBuiltinModule('v8').getHeapStatistics().heap_size_limit",
  'name servers': "process.getBuiltinModule('dns').getServers().join()",
  'a report of the machine': 'process.report.getReport().header.osRelease',
  'the clock of another realm': "process.getBuiltinModule('vm').runInNewContext('new Date().getFullYear()')",
  'the release of the kernel in a file': "fs.readFileSync('/proc/sys/kernel/osrelease', 'utf8')",
  'the internals of Node.js': "process.binding('os') && 'internals'",
  'a name': "(await process.getBuiltinModule('dns').promises.lookup('example.org')).address",
};

/** What no machine decides, although it looks as if one did: it is the same at every call. */
const STABLE: Readonly<Record<string, string>> = {
  'digests, compression and signatures with a secret': `await (async () => {
    const { createHash } = await import('node:crypto');
    const { gzipSync, gunzipSync } = await import('node:zlib');
    const how = { name: 'HMAC', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('raw', Buffer.from('k'), how, false, ['sign']);
    const mac = await crypto.subtle.sign('HMAC', key, Buffer.from('x'));
    return [createHash('sha256').update('x').digest('hex').length, gunzipSync(gzipSync('x')).toString(), mac.byteLength];
  })()`,
  'which of two timers ends first':
    'await Promise.race([3, 2].map((ms) => new Promise((done) => setTimeout(done, ms, ms))))',
  'how much happens until a timer ends': `await (async () => {
    let [n, over] = [0, false];
    setTimeout(() => { over = true; }, 2);
    for (; !over; n++) await new Promise((done) => setImmediate(done));
    return n;
  })()`,
  'how much happens until the host answers': `await (async () => {
    let n = 0;
    const counting = setInterval(() => { n += 1; }, 1);
    await ctx.artifacts.stat(args.text);
    clearInterval(counting);
    return n;
  })()`,
  'which of two files is read first': `await Promise.race([1, 2].map(async (n) => {
    await fs.promises.readFile(import.meta.filename);
    return n;
  }))`,
  'how much happens until a file is read': `await (async () => {
    let [n, over] = [0, false];
    fs.promises.readFile(import.meta.filename).then(() => { over = true; });
    for (; !over; n++) await new Promise((done) => setImmediate(done));
    return n;
  })()`,
  'how much happens until WebAssembly is compiled': `await (async () => {
    // As many functions as take V8 a while: a type, their indices, an empty body each.
    const leb = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...leb(n >> 7)]);
    const part = (id, bytes) => [id, ...leb(bytes.length), ...bytes];
    const count = 20_000;
    const body = [4, 0, 1, 1, 11];
    const parts = [part(1, [1, 96, 0, 0]), part(3, [...leb(count), ...Array(count).fill(0)]),
      part(10, [...leb(count), ...Array(count).fill(body).flat()])];
    let [n, over] = [0, false];
    WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, ...parts.flat()])).then(() => { over = true; });
    for (; !over; n++) await new Promise((done) => setImmediate(done));
    return n;
  })()`,
  'whether something was collected': `await (async () => {
    const weak = new WeakRef({});
    for (let n = 0; n < 200; n++) { new Array(100_000).fill(n); await new Promise((done) => setImmediate(done)); }
    return weak.deref() !== undefined;
  })()`,
  'timers as promises': `await (async () => {
    const { setTimeout: sleep } = await import('node:timers/promises');
    const signal = AbortSignal.timeout(1);
    return [await sleep(3, 'slept'), signal.aborted];
  })()`,
};

const entries = (table: Readonly<Record<string, string>>) =>
  Object.entries(table)
    .map(([name, text]) => `${JSON.stringify(name)}: async (args, ctx) => (${text})`)
    .join(',\n');

const MODULE = `import { runPlan } from 'haft/toolpack';
import os, { hostname } from 'node:os';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { version } from 'node:process';
import { getRandomValues, randomBytes, randomFill, randomFillSync, randomInt, randomUUID, webcrypto } from 'node:crypto';
const atLoad = Math.random() < 0.5;
let count = 0;
const connect = (target) => new Promise((resolve, reject) => {
  const socket = process.getBuiltinModule('net').connect(target, () => { socket.destroy(); resolve('connected'); });
  socket.on('error', reject);
});
const TRIES = { ${entries(UNSTABLE)}, ${entries(BLOCKED)}, ${entries(STABLE)},
  'an artifact': async (args, ctx) => ctx.artifacts.stat(args.text),
  'the text of an artifact': async (args, ctx) => ctx.artifacts.readText(args.text, { maxBytes: 5 }),
  'another artifact': async (args, ctx) => ctx.artifacts.stat('${OTHER_ID}'),
  'an image': async (args, ctx) => ctx.images.pin('haft/text:1'),
  'the console': async () => { console.log('hello'); process.stdout.write('there'); return 'said'; },
};
const definition = { ${Object.entries(GOOD)
  .map(([key, value]) => `${key}: ${value}`)
  .join(', ')} };
const canonicalize = async (args, ctx) => {
  const answer = await definition.canonicalize(args, ctx);
  if (args.try === 'an end') process.exit(4);
  if (args.try === 'sqlite') await import('node:sqlite');
  if (!TRIES[args.try]) throw new TypeError(\`TRIES[\${args.try}] is not there; see \${import.meta.filename}\`);
  try {
    answer.canonicalParams.got = await TRIES[args.try](args, ctx);
  } catch (thrown) {
    answer.canonicalParams.refused = thrown.code ?? thrown.message;
  }
  return answer;
};
export default { ...definition, canonicalize };
`;

describe('a toolpack', () => {
  let fixture: PackFixture;
  let pack: OpenPack;
  const end = Promise.withResolvers<void>();
  let held: Promise<void>;
  const server = createServer((socket) => socket.end());
  let args: JsonObject;
  before(async () => {
    process.env.HAFT_TEST_SECRET = 'secret of the host';
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const ready = Promise.withResolvers<void>();
    held = withPacks(async (opened) => {
      fixture = opened;
      writeFileSync(join(opened.root, 'secret.txt'), 'secret');
      const { port } = server.address() as { port: number };
      args = { text: TEXT_ID, secret: join(opened.root, 'secret.txt'), port };
      const { value, diagnostics } = await opened.open({
        'toolpack.js': MODULE,
        'toolpack.test.ts': 'secret',
        'package.json': '{"type":"module","haft":{"toolpack":"toolpack.js"}}',
      });
      assert.ok(value, JSON.stringify(diagnostics));
      pack = value;
      ready.resolve();
      await end.promise;
    });
    await Promise.race([ready.promise, held]);
  });
  after(async () => {
    delete process.env.HAFT_TEST_SECRET;
    end.resolve();
    await held;
    await new Promise((resolve) => server.close(resolve));
  });

  const attempt = async (what: string) =>
    (await fixture.prepare(pack, { ...args, try: what })).params.params as {
      got?: unknown;
      refused?: string;
    };

  for (const what of Object.keys(UNSTABLE)) {
    it(`is refused when its params hold ${what}`, async () => {
      await assert.rejects(attempt(what), { reason: 'toolpack.unstable', message: /canonicalParams\/got/ });
    });
  }

  for (const what of Object.keys(BLOCKED)) {
    it(`cannot reach ${what}`, async () => {
      const { got, refused } = await attempt(what);
      assert.equal(got, undefined, `it got ${JSON.stringify(got)}`);
      assert.ok(refused);
    });
  }

  for (const what of Object.keys(STABLE)) {
    it(`is answered alike about ${what}`, async () => {
      const first = await attempt(what);
      assert.equal(first.refused, undefined);
      for (let n = 0; n < 5; n++) {
        const { params } = await fixture.prepare(pack, { ...args, try: what, n });
        assert.deepEqual((params.params as { got: unknown }).got, first.got);
      }
    });
  }

  it('is told which module is withheld, and why', async () => {
    await assert.rejects(attempt('sqlite'), {
      reason: 'toolpack.failed',
      message: /Cannot use "node:sqlite" in a toolpack: it is withheld, since it reaches the clock/,
    });
  });

  it('can ask for the size and the text of an artifact that its arguments name', async () => {
    assert.deepEqual((await attempt('an artifact')).got, { artifactId: TEXT_ID, size: TEXT.length });
    assert.equal((await attempt('the text of an artifact')).got, TEXT.toString().slice(0, 5));
  });

  it('cannot ask for another artifact', async () => {
    assert.match((await attempt('another artifact')).refused ?? '', /the arguments do not name it/);
  });

  it('is told one digest of an image, however often it asks', async () => {
    assert.equal((await attempt('an image')).got, `haft/text:1@sha256:${'b'.repeat(64)}`);
    assert.deepEqual(fixture.pinned, ['haft/text:1']);
  });

  it('may print, and that is no answer', async () => {
    assert.equal((await attempt('the console')).got, 'said');
  });

  it('that ends its process fails the call, and is started again for the next one', async () => {
    await assert.rejects(attempt('an end'), { reason: 'toolpack.failed', message: /ended with code 4/ });
    assert.equal((await attempt('the console')).got, 'said');
  });

  it('that throws is quoted, without the place where its copy lies', async () => {
    await assert.rejects(attempt('nothing that is there'), (thrown: Error) => {
      assert.match(thrown.message, /TRIES\[/);
      assert.doesNotMatch(thrown.message, /\/tmp/);
      return true;
    });
  });
});
