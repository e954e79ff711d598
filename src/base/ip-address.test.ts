import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { checkPlace, type HostAddress, literalAddress } from '../capabilities/http/dial.ts';
import { parseHttpUrl } from '../contract/http.ts';
import { type AddressKind, classifyAddress, normalAddress } from './ip-address.ts';

const CLASSES: { readonly [K in AddressKind]: readonly string[] } = {
  public: [
    '8.8.8.8',
    '1.1.1.1',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
  ],
  private: [
    '127.0.0.1',
    '127.255.255.254',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '100.64.0.1',
    '::1',
    'fc00::1',
    'fd12:3456::1',
    '198.18.0.1',
    '240.0.0.1',
    '192.0.2.1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a00:1',
  ],
  metadata: [
    '169.254.169.254',
    '169.254.170.2',
    'fe80::1',
    'fe80::1%eth0',
    'fd00:ec2::254',
    'fd20:ce::254',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
  ],
  never: [
    '0.0.0.0',
    '0.1.2.3',
    '255.255.255.255',
    '224.0.0.1',
    '239.255.255.250',
    '::',
    'ff02::1',
    '2002:7f00:1::',
    '2001::1',
    '100::1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b:1::1',
    'fec0::1',
    '4000::1',
    '::ffff:0.0.0.0',
    'not an address',
    '',
  ],
};

describe('classifyAddress', () => {
  for (const [kind, addresses] of Object.entries(CLASSES)) {
    for (const address of addresses)
      it(`takes ${address || 'nothing'} for ${kind}`, () =>
        assert.equal(classifyAddress(address).kind, kind));
  }
  it('calls nothing public that carries an address which is not', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom('::ffff:', '64:ff9b::'), (v4, prefix) => {
        assert.equal(classifyAddress(prefix + v4).kind, classifyAddress(v4).kind);
      }),
    );
  });
  it('knows one spelling of each address', () => {
    assert.equal(normalAddress('::FFFF:127.0.0.1'), normalAddress('::ffff:7f00:1'));
    assert.equal(normalAddress('fe80::1%lo'), normalAddress('fe80:0:0:0:0:0:0:1'));
    assert.equal(normalAddress('nobody'), undefined);
  });
});

describe('parseHttpUrl', () => {
  const SPELLINGS = [
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '017700000001',
    '0177.0.0.1',
    '127.1',
    '127.0.0.1.',
    '①②⑦.0.0.1',
    '127。0。0。1',
    '%31%32%37.0.0.1',
  ];
  for (const host of SPELLINGS)
    it(`reads http://${host}/ as the address that it is`, () => {
      const { target } = parseHttpUrl(`http://${host}/`);
      assert.deepEqual(target, { scheme: 'http', host: '127.0.0.1', port: 80 });
      assert.throws(() => checkPlace(target, [literalAddress(target.host)!], false), {
        reason: 'http.address',
      });
    });
  it('names hosts as they are looked up', () => {
    assert.deepEqual(parseHttpUrl('https://EXAMPLE.org./a#b').target, {
      scheme: 'https',
      host: 'example.org',
      port: 443,
    });
    assert.equal(parseHttpUrl('https://bücher.example/').target.host, 'xn--bcher-kva.example');
    assert.equal(parseHttpUrl('http://[::FFFF:7f00:1]:8080/').target.host, '[::ffff:7f00:1]');
    assert.equal(parseHttpUrl('https://example.org./a#b').url.href, 'https://example.org/a');
    assert.equal(parseHttpUrl('http://good.test\\@evil.test/').target.host, 'good.test');
  });
  const REFUSED = [
    'ftp://a/',
    'file:///etc/passwd',
    'javascript:1',
    'data:,x',
    'gopher://a:70/',
    'http://user@a/',
    'http://user:secret@a/',
    'http://:secret@a/',
    'http://',
    'http://a:0/',
    'http://a:99999/',
    'http://a..b/',
    'http://a../',
    'http://./',
    'http://a b/',
    'http://a/\r\nX: y',
    'http://a/ b',
    'http://a\0/',
    'http://[fe80::1%25eth0]/',
    'http://[::1/',
    'http://1.2.3.4.5/',
    'http://256.1.1.1/',
    '//a/',
    'a',
    '',
    `http://a/${'x'.repeat(9000)}`,
  ];
  for (const url of REFUSED)
    it(`refuses ${JSON.stringify(url.slice(0, 40))}, without repeating it`, () => {
      assert.throws(
        () => parseHttpUrl(url),
        (thrown: Error & { reason?: string }) =>
          thrown.reason === 'http.url' && !thrown.message.includes('secret'),
      );
    });
});

describe('checkPlace', () => {
  const at = (host: string) => ({ scheme: 'http', host, port: 80 });
  const found = (...list: string[]): HostAddress[] =>
    list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

  it('keeps only the addresses that may be connected to', () => {
    const place = checkPlace(at('a.test'), found('10.0.0.1', '8.8.8.8', 'fe80::1'), false);
    assert.deepEqual(place.addresses, found('8.8.8.8'));
    assert.equal(place.private, false);
  });
  it('refuses a host with none of them, and says which line would admit it', () => {
    assert.throws(() => checkPlace({ ...at('a.test'), port: 8080 }, found('10.0.0.1'), false), {
      reason: 'http.address',
      message: 'Cannot connect http://a.test:8080: its name leads to a private address',
      details: {
        host: 'a.test',
        port: 8080,
        range: 'private',
        admit: 'network:\n  allowed_domains:\n    - {domain: "a.test:8080", private: true}\n',
      },
    });
  });
  it('lets a name that policy calls private lead to private addresses, but to no metadata service', () => {
    assert.deepEqual(
      checkPlace(at('a.test'), found('10.0.0.1', '169.254.169.254'), true).addresses,
      found('10.0.0.1'),
    );
    assert.throws(() => checkPlace(at('a.test'), found('169.254.169.254'), true), { reason: 'http.address' });
    assert.throws(() => checkPlace(at('a.test'), found('0.0.0.0'), true), { reason: 'http.address' });
    assert.ok(checkPlace(at('169.254.169.254'), found('169.254.169.254'), true).private);
  });
  it('gives other addresses, other hosts and other decisions another key', () => {
    const key = (host: string, list: HostAddress[], may: boolean) => checkPlace(at(host), list, may).key;
    const one = key('a.test', found('8.8.8.8', '1.1.1.1'), true);
    assert.equal(one, key('a.test', found('1.1.1.1', '8.8.8.8'), false));
    assert.notEqual(one, key('a.test', found('8.8.8.8'), true));
    assert.notEqual(one, key('b.test', found('8.8.8.8', '1.1.1.1'), true));
    assert.notEqual(one, key('a.test', found('8.8.8.8', '1.1.1.1', '10.0.0.1'), true));
  });
});
