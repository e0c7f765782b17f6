import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import t from 'tap';
import { helloBytesMax, readFirstWords } from '../../../src/wire/tls/client-hello.ts';

/** The first bytes of a client of Node's. */
async function firstBytes(options: tls.ConnectionOptions): Promise<Buffer> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const client = tls.connect({ host: '127.0.0.1', port, ...options }).on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [net.Socket];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

const uint16 = (value: number): Buffer => Buffer.of(value >>> 8, value & 255);
const withLength = (content: Buffer): Buffer => Buffer.concat([uint16(content.length), content]);
const extension = (type: number, content: Buffer): Buffer =>
  Buffer.concat([uint16(type), withLength(content)]);
const names = (...entries: [type: number, name: string][]): Buffer =>
  extension(
    0,
    withLength(
      Buffer.concat(
        entries.map(([type, name]) => Buffer.concat([Buffer.of(type), withLength(Buffer.from(name))])),
      ),
    ),
  );
const fixedPart = Buffer.concat([Buffer.of(3, 3), Buffer.alloc(32), Buffer.of(0, 0, 2, 0x13, 1, 1, 0)]);
const message = (content: Buffer): Buffer => Buffer.concat([Buffer.of(1, 0), withLength(content)]);
const record = (content: Buffer): Buffer => Buffer.concat([Buffer.of(0x16, 3, 1), withLength(content)]);
const helloWith = (...extensions: Buffer[]): Buffer =>
  message(Buffer.concat([fixedPart, withLength(Buffer.concat(extensions))]));
const named = helloWith(extension(10, Buffer.alloc(4)), names([0, 'a.example']));
const named16 = named.subarray(0, 60);

t.test('tells the name of a real client, wherever its bytes are cut', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    for (const servername of ['api.test.example', '']) {
      const bytes = await firstBytes({ servername, maxVersion });
      t.strictSame(readFirstWords(bytes), { kind: 'tls', serverName: servername });
      t.strictSame(
        readFirstWords(Buffer.concat([bytes, Buffer.alloc(9)])),
        { kind: 'malformed' },
        'rubbish behind it',
      );
      for (let end = 0; end < bytes.length; end++)
        if (readFirstWords(bytes.subarray(0, end))) t.fail(`told by ${end} bytes`);
    }
  }
});

t.test('puts a hello together that is cut into records', (t) => {
  for (const size of [1, 2, 3, 5, 40]) {
    const records: Buffer[] = [];
    for (let at = 0; at < named.length; at += size) records.push(record(named.subarray(at, at + size)));
    const bytes = Buffer.concat(records);
    t.strictSame(readFirstWords(bytes), { kind: 'tls', serverName: 'a.example' }, `${size} bytes each`);
    t.equal(readFirstWords(bytes.subarray(0, -1)), undefined);
  }
  t.end();
});

t.test('what is not TLS is told by its first two bytes', (t) => {
  for (const text of [
    'SSH-2.0-x\r\n',
    'EHLO a\r\n',
    'GET / HTTP/1.1\r\n',
    '\0',
    '\x16\x02',
    '\x80\x2e\x01\x03\x01',
  ])
    t.strictSame(readFirstWords(Buffer.from(text, 'latin1')), { kind: 'other' }, JSON.stringify(text));
  t.equal(readFirstWords(Buffer.alloc(0)), undefined);
  t.equal(readFirstWords(Buffer.of(0x16)), undefined);
  t.end();
});

t.test('refuses TLS that does not say in one way whom it is for', (t) => {
  const cases: readonly [name: string, bytes: Buffer][] = [
    ['an alert first', Buffer.of(0x15, 3, 1, 0, 2, 1, 0)],
    ['a change of ciphers first', Buffer.concat([Buffer.of(0x14, 3, 1, 0, 1, 1), record(named)])],
    ['application data', Buffer.of(0x17, 3, 3, 0, 1, 0)],
    ['an empty record', Buffer.of(0x16, 3, 1, 0, 0)],
    ['a record that is too long', Buffer.of(0x16, 3, 1, 0x50, 0)],
    ['another message', record(Buffer.concat([Buffer.of(2), named.subarray(1)]))],
    ['another record in the middle', Buffer.concat([record(named16), Buffer.of(0x15, 3, 1, 0, 2, 1, 0)])],
    ['two names', record(helloWith(names([0, 'a.example'], [0, 'b.example'])))],
    ['two lists of names', record(helloWith(names([0, 'a.example']), names([0, 'b.example'])))],
    ['a name of another kind', record(helloWith(names([1, 'a.example'])))],
    ['an empty name', record(helloWith(names([0, ''])))],
    ['an empty list', record(helloWith(names()))],
    ['an extension without content', record(helloWith(extension(0, Buffer.alloc(0))))],
    ['a list that is longer than it is', record(helloWith(extension(0, Buffer.of(0, 9, 0, 0, 1, 0x61))))],
    ['bytes behind the list', record(helloWith(extension(0, Buffer.of(0, 4, 0, 0, 1, 0x61, 0))))],
    [
      'bytes behind the extensions',
      record(message(Buffer.concat([fixedPart, withLength(names([0, 'a.example'])), Buffer.of(0)]))),
    ],
    ['extensions that are cut', record(message(Buffer.concat([fixedPart, Buffer.of(0, 200, 0, 0)])))],
    ['a hello that is cut', record(message(fixedPart.subarray(0, 30)))],
    ['a hello that is too long', record(Buffer.concat([Buffer.of(1, 1, 0, 0), Buffer.alloc(9)]))],
  ];
  for (const [name, bytes] of cases) t.strictSame(readFirstWords(bytes), { kind: 'malformed' }, name);
  t.strictSame(
    readFirstWords(record(message(fixedPart))),
    { kind: 'tls', serverName: '' },
    'none at all is right',
  );
  const endless = Buffer.concat(Array.from({ length: 4000 }, () => record(Buffer.of(1))));
  t.strictSame(readFirstWords(endless.subarray(0, helloBytesMax)), { kind: 'malformed' });
  t.end();
});
