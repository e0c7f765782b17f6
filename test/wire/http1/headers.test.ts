import t from 'tap';
import { parseResponseHead } from '../../../src/wire/http1/head.ts';
import {
  toClientHeaders,
  toClientTrailers,
  toUpstreamHeaders,
  withoutNamedFields,
} from '../../../src/wire/http1/headers.ts';

const tail = ['Via', '1.1 postern', 'Host', 'api.example'];

t.test('makes the head of a request for the upstream', async (t) => {
  const cases: readonly { name: string; raw: string[]; want: string[] }[] = [
    {
      name: 'keeps order, casing and repeated fields',
      raw: ['X-One', '1', 'accept', '*/*', 'COOKIE', 'a=1', 'x-one', '2', 'Authorization', 'Basic eDp5'],
      want: ['X-One', '1', 'accept', '*/*', 'COOKIE', 'a=1', 'x-one', '2', 'Authorization', 'Basic eDp5'],
    },
    {
      name: 'removes hop-by-hop fields in any casing',
      raw: [
        ...['Connection', 'keep-alive', 'KEEP-ALIVE', 'timeout=5', 'Proxy-Connection', 'keep-alive'],
        ...[
          'proxy-authorization',
          'Basic a',
          'Proxy-Authenticate',
          'Basic',
          'Trailer',
          'X',
          'Upgrade',
          'h2c',
        ],
        ...[
          'HTTP2-Settings',
          'AAMAAABk',
          'Transfer-Encoding',
          'chunked',
          'PROXY-anything',
          '1',
          'X',
          'stays',
        ],
      ],
      want: ['X', 'stays'],
    },
    {
      name: 'makes length, host and expectation anew',
      raw: ['Host', 'a', 'Content-Length', '5', 'content-length', '6', 'Expect', '100-continue', 'HOST', 'b'],
      want: [],
    },
    {
      name: 'keeps of TE only the wish for trailers',
      raw: ['TE', 'gzip, trailers ;q=0.5, trailers', 'te', 'deflate'],
      want: ['TE', 'trailers'],
    },
    {
      name: 'keeps TE where Connection names it, as it must',
      raw: ['Connection', 'TE', 'TE', 'trailers'],
      want: ['TE', 'trailers'],
    },
    {
      name: 'removes what Connection names, wherever it stands',
      raw: ['X-Hop', '1', 'Connection', 'close, X-Hop , x-other', 'x-OTHER', '2', 'X-End', '3'],
      want: ['X-End', '3'],
    },
    {
      name: 'reads every Connection field',
      raw: ['connection', 'x-a', 'Connection', 'x-b', 'X-A', '1', 'X-B', '2', 'X-C', '3'],
      want: ['X-C', '3'],
    },
    {
      name: 'does not let Connection strip end-to-end fields',
      raw: [
        ...['Connection', 'authorization, cookie, content-type, x-api-key, host, Cache-Control'],
        ...['Authorization', 'a', 'Cookie', 'b', 'Content-Type', 'c', 'X-Api-Key', 'd', 'Cache-Control', 'e'],
      ],
      want: [
        'Authorization',
        'a',
        'Cookie',
        'b',
        'Content-Type',
        'c',
        'X-Api-Key',
        'd',
        'Cache-Control',
        'e',
      ],
    },
    {
      name: 'goes behind the proxies that stand in Via',
      raw: ['Via', '1.1 first', 'X', '1', 'via', '2 second'],
      want: ['Via', '1.1 first', 'X', '1', 'via', '2 second'],
    },
    {
      name: 'removes what servers may take for a field that frames the message',
      raw: [
        'Transfer_Encoding',
        'chunked',
        'content_length',
        '4',
        'Content.Length',
        '5',
        'Proxy_Auth',
        '1',
        'X_Y',
        '2',
      ],
      want: ['X_Y', '2'],
    },
    {
      name: 'takes names that only look like others',
      raw: ['Proxied', '1', 'T', '2', 'Hosts', '3'],
      want: [],
    },
  ];
  for (const { name, raw, want } of cases) {
    const expected = name.startsWith('takes') ? raw : want;
    const connection = raw.filter((_text, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === 'connection');
    const judged = withoutNamedFields(raw, connection.join(','));
    t.same(toUpstreamHeaders(judged, 'api.example', '1.1 postern'), [...expected, ...tail], name);
  }
});

function headOf(fields: readonly string[]) {
  const lines = fields.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`));
  return parseResponseHead(`HTTP/1.1 200 OK\r\n${lines.join('')}`, 100);
}

t.test('makes the head of an answer for the client', async (t) => {
  const extra = ['X-Service-Decision', 'ALLOW', 'Via', '1.1 postern'];
  const cases: readonly { name: string; raw: string[]; want: string[] }[] = [
    {
      name: 'keeps order, casing and repeated cookies',
      raw: ['set-cookie', 'a=1', 'X-Y', '1', 'Set-Cookie', 'b=2', 'content-length', '5'],
      want: ['set-cookie', 'a=1', 'X-Y', '1', 'Set-Cookie', 'b=2', 'content-length', '5'],
    },
    {
      name: 'removes what is about the upstream connection, and ways around the gateway',
      raw: [
        ...[
          'Connection',
          'close, X-Hop',
          'X-Hop',
          '1',
          'Keep-Alive',
          'timeout=5',
          'Transfer-Encoding',
          'chunked',
        ],
        ...[
          'Trailer',
          'X',
          'Upgrade',
          'h2',
          'Proxy-Authenticate',
          'Basic',
          'Alt-Svc',
          'h3=":443"',
          'Date',
          'now',
        ],
      ],
      want: ['Date', 'now'],
    },
    {
      name: 'drops fields in the name of the gateway, sent along or not',
      raw: ['x-service-decision', 'DENY', 'X-SERVICE-APPROVAL-ID', '1', 'X-Serviced', '2', 'X-Service', '3'],
      want: ['X-Serviced', '2', 'X-Service', '3'],
    },
    {
      name: 'drops what an upstream says in the name of the gateway about why a call failed',
      raw: [
        'Proxy-Status',
        'postern; error=http_request_denied',
        'proxy-status',
        'cdn; error=dns_error',
        'X',
        '1',
      ],
      want: ['X', '1'],
    },
    {
      name: 'drops the same in spellings that are one to some clients',
      raw: [
        'X_Service_Decision',
        'DENY',
        'proxy_status',
        'postern',
        'Alt_Svc',
        'h3',
        'Transfer_Encoding',
        'chunked',
        'X_Y',
        '1',
      ],
      want: ['X_Y', '1'],
    },
    { name: 'keeps the Via of others', raw: ['via', '1.1 cdn'], want: ['via', '1.1 cdn'] },
    {
      name: "drops the cookie of the console's sessions, and no other",
      raw: [
        'Set-Cookie',
        'a=1',
        'set-cookie',
        'postern_session_0a1b2c3d=x; Path=/',
        'SET-COOKIE',
        ' postern_session =y',
        'Set-Cookie',
        '__host-postern_session_0a1b2c3d=y; Secure',
        'Set-Cookie',
        '=postern_session_0a1b2c3d=z; Path=/',
      ],
      want: ['Set-Cookie', 'a=1'],
    },
    { name: 'keeps bytes above ASCII', raw: ['X-N', 'caf\xe9'], want: ['X-N', 'caf\xe9'] },
  ];
  for (const { name, raw, want } of cases) {
    t.same(toClientHeaders(headOf(raw), extra, 'x-service-'), [...want, ...extra], name);
  }
});

t.test('lets trailers through that may stand in a trailer', async (t) => {
  const raw = [
    'X-Checksum',
    'abc',
    'Content-Length',
    '5',
    'Set-Cookie',
    'a=1',
    'x-service-decision',
    'ALLOW',
    'Proxy-Status',
    'postern; error=http_request_denied',
    ...['X_Service_Decision', 'ALLOW', 'proxy_status', 'postern', 'Content_Length', '5'],
  ];
  t.same(toClientTrailers(raw, [], 'x-service-'), [['X-Checksum', 'abc']]);
  t.same(toClientTrailers(['grpc-status', '0', 'x-own', '1'], ['X-Own', '2'], ''), [['grpc-status', '0']]);
});
