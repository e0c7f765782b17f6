import t from 'tap';
import { mayBeUnread, whyHidesRequest } from '../../../src/wire/http1/body-as-request.ts';

const request = 'DELETE /admin HTTP/1.1\r\nHost: a\r\n\r\n';

t.test('knows a body that begins like a request', async (t) => {
  const cases: Record<string, [body: string, isRequest: boolean]> = {
    'a request': [request, true],
    'behind empty lines': [`\r\n\n\r\n${request}`, true],
    'behind blanks': [` \t${request}`, true],
    'without an end': ['DELETE /admin HTTP/1.1', true],
    'with a tab': ['DELETE\t/admin\tHTTP/1.1\r\n\r\n', true],
    'of a method that nobody knows': ["m!#$%&'*+-.^_`|~1 /admin HTTP/1.0\r\n\r\n", true],
    'of a long method that nobody knows': [`${'A'.repeat(60_000)} /admin HTTP/1.1\r\n\r\n`, true],
    'of HTTP/0.9': ['GET /admin\r\n', true],
    'of HTTP/0.9, without a line end': ['GET /admin', true],
    'the beginning of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', true],
    'with a long target': [`GET /${'a'.repeat(60_000)} HTTP/1.1\r\n`, true],
    JSON: ['{"query":"GET /admin HTTP/1.1"}', false],
    'a form': ['a=DELETE /admin HTTP/1.1', false],
    'a request in the second line': [`hello\r\n${request}`, false],
    'a version in the second line': ['well done\r\nHTTP/1.1', false],
    'a sentence': ['Get well soon', false],
    'a long word': ['A'.repeat(70_000), false],
    'an answer': ['HTTP/1.1 200 OK\r\n\r\n', false],
    'a message of gRPC': [`\0\0\0\0\x20${request}`, false],
    nothing: ['', false],
    blanks: [' \r\n', false],
  };
  for (const [name, [text, isRequest]] of Object.entries(cases)) {
    const body = Buffer.from(text, 'latin1');
    t.equal(mayBeUnread('POST', body), isRequest, name);
    t.equal(whyHidesRequest('DELETE', body) !== undefined, isRequest, name);
  }
});

t.test('servers may leave any body of a GET unread', async (t) => {
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PURGE'])
    t.ok(mayBeUnread(method, Buffer.from('{"a":1}')), method);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'REPORT'])
    t.notOk(mayBeUnread(method, Buffer.from('{"a":1}')), method);
});

t.test('texts that begin like a request may be sent where servers expect a text', async (t) => {
  const refused = ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PROPFIND', 'QUERY'];
  for (const method of refused)
    t.match(whyHidesRequest(method, Buffer.from(request)), { code: 'VALIDATION_FAILED' }, method);
  for (const method of ['POST', 'PUT', 'PATCH'])
    t.equal(whyHidesRequest(method, Buffer.from(request)), undefined, method);
});

t.test('looks at a line as long as servers take one, in linear time', async (t) => {
  const blanks = Buffer.from(`A${' '.repeat(4_000_000)}`);
  t.notOk(mayBeUnread('POST', blanks));
  t.notOk(mayBeUnread('POST', Buffer.from(' '.repeat(65_535))));
  t.ok(mayBeUnread('POST', Buffer.from(' '.repeat(65_536))), 'more blanks than are looked behind');
  t.match(whyHidesRequest('GET', Buffer.from('\n'.repeat(65_536))), { code: 'VALIDATION_FAILED' });
  t.notOk(mayBeUnread('POST', Buffer.from(`HEAD /${'a'.repeat(65_536)} HTTP/1.1\r\n`)));
});
