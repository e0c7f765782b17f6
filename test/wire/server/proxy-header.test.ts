import t from 'tap';
import {
  type ProxyHeader,
  proxyHeaderBytesMax,
  readProxyHeader,
} from '../../../src/wire/server/proxy-header.ts';

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

/** A header of version 2. */
function binary(command: number, family: number, rest: Buffer | number): Buffer {
  const content = typeof rest === 'number' ? Buffer.alloc(rest) : rest;
  const length = Buffer.alloc(2);
  length.writeUInt16BE(content.length);
  return Buffer.concat([signature, Buffer.of(command, family), length, content]);
}

const ipv4 = Buffer.of(203, 0, 113, 9, 10, 0, 0, 1, 0xc3, 0x50, 1, 0xbb);
const ipv6 = Buffer.concat([
  Buffer.from('20010db8000000000000000000000001', 'hex'),
  Buffer.alloc(16),
  Buffer.alloc(4),
]);
const tlv = Buffer.from('0400030000ff', 'hex');
const text = (line: string): Buffer => Buffer.from(`${line}\r\n`, 'latin1');

const whole: readonly [name: string, bytes: Buffer, address: string | undefined][] = [
  ['IPv4 in text', text('PROXY TCP4 203.0.113.9 10.0.0.1 50000 443'), '203.0.113.9'],
  ['IPv6 in text', text('PROXY TCP6 2001:DB8::1 ::1 50000 443'), '2001:db8::1'],
  ['unknown in text', text('PROXY UNKNOWN'), undefined],
  ['unknown with what stands behind it', text('PROXY UNKNOWN ffff::1 ffff::2 65535 65535'), undefined],
  ['IPv4', binary(0x21, 0x11, ipv4), '203.0.113.9'],
  ['IPv4 of datagrams', binary(0x21, 0x12, ipv4), '203.0.113.9'],
  ['IPv4 with more behind it', binary(0x21, 0x11, Buffer.concat([ipv4, tlv])), '203.0.113.9'],
  ['IPv6', binary(0x21, 0x21, ipv6), '2001:db8::1'],
  ['a path', binary(0x21, 0x31, 216), undefined],
  ['unspecified', binary(0x21, 0x00, tlv), undefined],
  ['a check of the load balancer', binary(0x20, 0x00, 0), undefined],
  ['a check that names addresses', binary(0x20, 0x11, ipv4), undefined],
  [
    'the longest',
    binary(0x21, 0x11, Buffer.concat([ipv4, Buffer.alloc(proxyHeaderBytesMax - 28)])),
    '203.0.113.9',
  ],
];

t.test('reads a header, however it is cut, and nothing of what is behind it', (t) => {
  const behind = Buffer.from('PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r\nGET / HTTP/1.1\r\n\r\n');
  for (const [name, bytes, address] of whole) {
    const want: ProxyHeader = { length: bytes.length, address };
    t.strictSame(readProxyHeader(bytes), want, name);
    t.strictSame(readProxyHeader(Buffer.concat([bytes, behind])), want, `${name}, with bytes behind it`);
    const early = Array.from({ length: Math.min(bytes.length, 300) }, (_, end) => bytes.subarray(0, end));
    t.ok(
      early.every((it) => readProxyHeader(it) === undefined),
      `${name}, cut anywhere`,
    );
  }
  t.end();
});

t.test('refuses what is no header as soon as that can be told', (t) => {
  const cases: readonly [name: string, bytes: Buffer][] = [
    ['a request', Buffer.from('GET')],
    ['a request that begins alike', Buffer.from('PRI')],
    ['a handshake', Buffer.of(0x16, 3, 1)],
    ['another case', text('proxy TCP4 1.1.1.1 1.1.1.1 1 1')],
    ['a bare LF', Buffer.from(`PROXY TCP4 1.1.1.1 1.1.1.1 1 1\n${'x'.repeat(107)}`)],
    ['two spaces', text('PROXY  TCP4 1.1.1.1 1.1.1.1 1 1')],
    ['a space behind it', text('PROXY TCP4 1.1.1.1 1.1.1.1 1 1 ')],
    ['one address', text('PROXY TCP4 1.1.1.1 1 1')],
    ['the other family', text('PROXY TCP4 ::1 ::1 1 1')],
    ['mixed families', text('PROXY TCP6 ::1 1.1.1.1 1 1')],
    ['a zone', text('PROXY TCP6 fe80::1%eth0 ::1 1 1')],
    ['an address in octal', text('PROXY TCP4 010.0.0.1 1.1.1.1 1 1')],
    ['a port too high', text('PROXY TCP4 1.1.1.1 1.1.1.1 65536 1')],
    ['a port with a zero before it', text('PROXY TCP4 1.1.1.1 1.1.1.1 01 1')],
    ['another protocol', text('PROXY UDP4 1.1.1.1 1.1.1.1 1 1')],
    ['controls in it', text('PROXY UNKNOWN \x07')],
    ['an endless line', Buffer.from(`PROXY UNKNOWN ${'a'.repeat(107)}`)],
    ['version 1 in binary', binary(0x11, 0x11, ipv4)],
    ['version 3', binary(0x31, 0x11, ipv4)],
    ['an unknown command', binary(0x22, 0x11, ipv4)],
    ['an unknown family', binary(0x21, 0x41, 216)],
    ['an unknown transport', binary(0x21, 0x13, ipv4)],
    ['too little room for its addresses', binary(0x21, 0x11, 11)],
    ['too little room for those of IPv6', binary(0x21, 0x21, ipv4)],
    ['too long', binary(0x21, 0x11, proxyHeaderBytesMax)],
  ];
  for (const [name, bytes] of cases) t.equal(readProxyHeader(bytes), 'malformed', name);
  const long = binary(0x21, 0x11, proxyHeaderBytesMax).subarray(0, 16);
  t.equal(readProxyHeader(long), 'malformed', 'one that announces too much is not waited for');
  t.end();
});
