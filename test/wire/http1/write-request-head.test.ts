import t from 'tap';
import { toRequestHead } from '../../../src/wire/http1/write-request-head.ts';

t.test('writes the head as it was given, and the length of the body', async (t) => {
  const headers = ['X-One', '1', 'x-one', 'caf\xe9\t2', 'Empty', '', 'Host', 'a.example'];
  const fields = 'X-One: 1\r\nx-one: caf\xe9\t2\r\nEmpty: \r\nHost: a.example\r\n';
  const cases = [
    { method: 'POST', bodyBytes: 7, length: 'Content-Length: 7\r\n' },
    { method: 'GET', bodyBytes: 7, length: 'Content-Length: 7\r\n' },
    { method: 'POST', bodyBytes: 0, length: 'Content-Length: 0\r\n' },
    { method: 'PUT', bodyBytes: 0, length: 'Content-Length: 0\r\n' },
    { method: 'PATCH', bodyBytes: 0, length: 'Content-Length: 0\r\n' },
    { method: 'GET', bodyBytes: 0, length: '' },
    { method: 'DELETE', bodyBytes: 0, length: '' },
    { method: "M!#$%&'*+-.^_`|~1", bodyBytes: 0, length: '' },
  ];
  for (const { method, bodyBytes, length } of cases) {
    const want = `${method} /a?b=%20 HTTP/1.1\r\n${fields}${length}\r\n`;
    t.equal(toRequestHead(method, '/a?b=%20', headers, bodyBytes), want, method);
  }
});

t.test('OPTIONS may ask about the server as a whole', async (t) => {
  t.equal(toRequestHead('OPTIONS', '*', ['Host', 'a'], 0), 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n');
});

t.test('refuses what would be another head at the upstream', async (t) => {
  const good = { method: 'GET', path: '/', headers: ['X', 'y'] };
  const cases: Record<string, Partial<typeof good>> = {
    'a second line in the method': { method: 'GET / HTTP/1.1\r\nX: y\r\n\r\nGET' },
    'no method': { method: '' },
    'a space in the method': { method: 'GET /admin' },
    'letters above ASCII in the method': { method: 'G\xc9T' },
    'a space in the path': { path: '/ HTTP/1.1' },
    'a line break in the path': { path: '/\r\nX: y' },
    'a NUL in the path': { path: '/\0' },
    'a tab in the path': { path: '/\t' },
    'a DEL in the path': { path: '/\x7f' },
    'a letter above ASCII in the path': { path: '/caf\xe9' },
    'a letter above latin1 in the path': { path: '/\u010a' },
    'no path': { path: '' },
    'a path in another form': { path: 'http://other.example/' },
    'an asterisk for another method than OPTIONS': { path: '*' },
    'more than an asterisk': { method: 'OPTIONS', path: '*/admin' },
    'a line break in a value': { headers: ['X', 'a\r\nY: b'] },
    'a bare LF in a value': { headers: ['X', 'a\nY: b'] },
    'a bare CR in a value': { headers: ['X', 'a\rY: b'] },
    'a line break at the end of a value': { headers: ['X', 'a\n'] },
    'a NUL in a value': { headers: ['X', '\0'] },
    'a DEL in a value': { headers: ['X', '\x7f'] },
    'an escape in a value': { headers: ['X', '\x1b[0m'] },
    // U+010A would become LF, and U+560D CR, where only the low byte is written.
    'a letter above latin1 in a value': { headers: ['X', 'a\u010ab'] },
    'two of them': { headers: ['X', '\u560d\u560a'] },
    'half of a surrogate pair': { headers: ['X', '\ud800'] },
    'a line break in a name': { headers: ['X: y\r\nZ', 'y'] },
    'a line break at the end of a name': { headers: ['X\n', 'y'] },
    'a space behind a name': { headers: ['X ', 'y'] },
    'a colon in a name': { headers: ['X:', 'y'] },
    'no name': { headers: ['', 'y'] },
    'a name above ASCII': { headers: ['\xd7', 'y'] },
    'a name without a value': { headers: ['X', 'y', 'Z'] },
    'a length of its own': { headers: ['content-LENGTH', '5'] },
    'a transfer coding of its own': { headers: ['Transfer-Encoding', 'chunked'] },
  };
  t.type(toRequestHead(good.method, good.path, good.headers, 0), 'string');
  for (const [name, bad] of Object.entries(cases)) {
    const { method, path, headers } = { ...good, ...bad };
    t.throws(() => toRequestHead(method, path, headers, 0), { code: 'VALIDATION_FAILED' }, name);
  }
});
