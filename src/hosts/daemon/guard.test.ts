// Owns: the proof that only this server's own names, its own pages and its own token come through.
// Refuses: sockets; create-daemon.test.ts sends the same things as bytes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createGuard } from './guard.ts';

const guard = createGuard('the-token-of-16+', ['127.0.0.1', 'localhost', '::1', 'Build.Example']);
const reason = (host: readonly string[], origin: readonly string[] = []) =>
  guard.check({ host, origin, authorization: ['Bearer the-token-of-16+'] }, true)?.reason;

describe('createGuard', () => {
  for (const host of [
    ...['127.0.0.1', '127.0.0.1:4280', 'localhost', 'LocalHost:80', 'localhost:1', 'localhost:65535'],
    ...['[::1]', '[::1]:4280', 'build.example', 'BUILD.example:9'],
  ])
    it(`answers to ${host}`, () => assert.equal(reason([host]), undefined));

  for (const host of [
    ...['', ' ', ':', ':4280', '[]', '[]:4280', '[::1', '::1', '::1:4280', '[::1]]', '[[::1]]'],
    ...['[::1]evil', '[::1].evil', '[::1]evil:80', '[::1]:80evil', '[::1]:', '[::1]@evil', '[::1%25lo]'],
    ...[
      'evil',
      'evil:4280',
      '127.0.0.1.evil.com',
      'localhost.evil',
      'evil.localhost',
      'localhost.',
      '127.0.0.1.',
    ],
    ...['localhost:4280@evil', 'localhost@evil', 'evil@localhost', 'me:pw@localhost', 'evil#@localhost'],
    ...[
      'localhost:',
      'localhost:0',
      'localhost:65536',
      'localhost:99999',
      'localhost:000080',
      'localhost:-1',
    ],
    ...['localhost:+80', 'localhost:8e1', 'localhost:80:80', 'localhost:80 ', ' localhost', 'localhost,evil'],
    ...['localhost/evil', 'localhost/', 'localhost?', 'localhost\\evil', 'http://localhost', '//localhost'],
    ...[
      '127.1',
      '2130706433',
      '0x7f.0.0.1',
      '0.0.0.0',
      '127.0.0.2',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[0:0::1]',
    ],
    ...['ⓛocalhost', 'localhost\u0000', 'localhost\u00a0', 'build.example.evil', 'Kelvin', '[::1]\n'],
  ])
    it(`refuses the Host ${JSON.stringify(host)}`, () => assert.equal(reason([host]), 'auth.origin'));

  it('refuses no Host and several, equal ones too', () => {
    assert.equal(reason([]), 'auth.origin');
    assert.equal(reason(['localhost', 'evil']), 'auth.origin');
    assert.equal(reason(['localhost', 'localhost']), 'auth.origin');
    assert.equal(guard.check({}, false)?.reason, 'auth.origin');
  });

  it('takes the Origin of its own pages', () => {
    assert.equal(reason(['LOCALHOST:4280'], ['http://localhost:4280']), undefined);
    assert.equal(reason(['[::1]:4280'], ['http://[::1]:4280']), undefined);
  });

  it('takes https only under a name that other machines know, where a proxy may speak TLS', () => {
    for (const scheme of ['http', 'https'])
      assert.equal(reason(['build.example'], [`${scheme}://build.example`]), undefined);
    for (const host of ['127.0.0.1:4280', 'localhost:4280', '[::1]:4280'])
      assert.equal(reason([host], [`https://${host}`]), 'auth.origin');
  });

  for (const origin of [
    ...[
      '',
      'null',
      'undefined',
      'localhost:4280',
      '//localhost:4280',
      'http://localhost',
      'http://localhost:4281',
    ],
    ...['http://localhost.evil', 'http://localhost:4280.evil', 'http://localhost:4280@evil', 'http://evil'],
    ...[
      'http://localhost:4280/',
      'http://localhost:4280 http://evil',
      'http://127.0.0.1:4280',
      'http://me@localhost:4280',
    ],
    ...[
      'file://',
      'file://localhost:4280',
      'ftp://localhost:4280',
      'ws://localhost:4280',
      'chrome-extension://abc',
    ],
    ...[
      'http:localhost:4280',
      'http:///localhost:4280',
      'http://http://localhost:4280',
      'xhttp://localhost:4280',
    ],
  ])
    it(`refuses the Origin ${JSON.stringify(origin)}`, () =>
      assert.equal(reason(['localhost:4280'], [origin]), 'auth.origin'));

  it('refuses a second Origin that is foreign', () =>
    assert.equal(reason(['localhost:4280'], ['http://localhost:4280', 'http://evil']), 'auth.origin'));

  it('wants the token once, whole and nothing else', () => {
    const asked = (...authorization: string[]) =>
      guard.check({ host: ['localhost'], authorization }, true)?.reason;
    assert.equal(asked('Bearer the-token-of-16+'), undefined);
    assert.equal(asked('bearer  the-token-of-16+'), undefined);
    for (const wrong of [
      ...['', 'Bearer', 'Bearer ', 'the-token-of-16+', 'Basic the-token-of-16+', 'Bearer the-token-of-16'],
      ...['Bearer the-token-of-16+ x', 'Bearer the-token-of-16+,the-token-of-16+', 'Bearer THE-TOKEN-OF-16+'],
      ...['Bearerthe-token-of-16+', ' Bearer the-token-of-16+', 'Bearer "the-token-of-16+"'],
    ])
      assert.equal(asked(wrong), 'auth.required', wrong);
    assert.equal(asked(), 'auth.required');
    assert.equal(asked('Bearer the-token-of-16+', 'Bearer the-token-of-16+'), 'auth.required');
    assert.equal(asked('Bearer wrong', 'Bearer the-token-of-16+'), 'auth.required');
  });
});
