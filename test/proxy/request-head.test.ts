import t from 'tap';
import { readRequestHead } from '../../src/proxy/request-head.ts';

const read = (...fields: string[]) => readRequestHead(fields, 'x-service-', 20);
const id = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';

t.test('a head is read in any casing, and keeps its order', async (t) => {
  const head = read(
    'HOST',
    'a',
    'X-One',
    '1',
    'content-TYPE',
    'text/plain',
    'Content-Encoding',
    'gzip',
    'x',
    '',
  );
  t.match(head, { host: 'a', contentType: 'text/plain', contentEncoding: 'gzip', claimed: undefined });
  t.same(head.headers, [
    'HOST',
    'a',
    'X-One',
    '1',
    'content-TYPE',
    'text/plain',
    'Content-Encoding',
    'gzip',
    'x',
    '',
  ]);
  t.match(read(), { headers: [], host: undefined, contentType: '', contentEncoding: '' });
  t.equal(read('Content-Encoding', 'gzip', 'content-encoding', 'br').contentEncoding, 'gzip, br');
});

t.test("what is the proxy's or the gateway's own is read and taken out", async (t) => {
  const head = read(
    ...[
      'Proxy-Authorization',
      'Basic x',
      'Proxy-Connection',
      'keep-alive',
      'X-Service-Agent-ID',
      id.toUpperCase(),
    ],
    ...[
      'x-SERVICE-agent-name',
      'n'.repeat(200),
      'X-Service-Runtime-Type',
      'r'.repeat(100),
      'X-Service-Context',
      '{}',
    ],
    ...['X-Service-Other', '1', 'X-Servic', 'stays', 'X-Services', 'stays'],
  );
  t.equal(head.proxyAuthorization, 'Basic x');
  t.same(head.claimed, {
    agentId: id,
    agentName: 'n'.repeat(128),
    runtimeType: 'r'.repeat(64),
    context: '{}',
  });
  t.same(head.headers, ['X-Servic', 'stays', 'X-Services', 'stays']);
});

t.test('fields that contradict each other are refused', async (t) => {
  const cases = [
    ['Host', 'a', 'host', 'a'],
    ['Content-Type', '', 'content-type', 'text/xml'],
    ['Proxy-Authorization', 'Basic x', 'Proxy-Authorization', 'Basic y'],
    ['X-Service-Agent-Id', 'me'],
  ];
  for (const fields of cases)
    t.throws(() => read(...fields), { code: 'VALIDATION_FAILED' }, String(fields[0]));
  const many = (count: number): string[] => Array.from({ length: count }, () => ['X', '1']).flat();
  t.equal(read(...many(20)).headers.length, 40);
  t.throws(() => read(...many(21)), { code: 'HEADERS_TOO_LARGE' });
});

t.test('what Connection names is gone before anything is read of it', async (t) => {
  const head = read(
    ...['Host', 'a', 'OpenAI-Organization', 'org-acme', 'Connection', 'close, openai-organization'],
    ...[
      'connection',
      '\tX-Two , ,X-Service-Agent-Name',
      'x-two',
      '2',
      'X-Service-Agent-Name',
      'n',
      'Cookie',
      'c',
    ],
  );
  t.same(
    head.headers.filter((_text, i) => i % 2 === 0),
    ['Host', 'Connection', 'connection', 'Cookie'],
  );
  t.equal(head.claimed, undefined);
  const kept = read('Connection', 'authorization, content-type', 'Authorization', 'a', 'Content-Type', 'b');
  t.match(kept, { contentType: 'b', headers: { length: 6 } }, 'end-to-end fields are not for it to name');
});
