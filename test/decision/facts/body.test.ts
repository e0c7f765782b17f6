import { gzipSync } from 'node:zlib';
import t from 'tap';
import type { BodyValue } from '../../../src/core/call.ts';
import { bodyFields, bodyValue, mayHideNames } from '../../../src/decision/facts/body.ts';
import {
  formFieldsMax,
  jsonDepthMax,
  structuredBytesMax,
} from '../../../src/decision/facts/body-structure.ts';
import { compilePolicies } from '../../../src/policy/index.ts';
import { factsOf, policyOf } from '../../policy/facts.ts';
import { callOf } from '../../support/call.ts';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const multipart = 'multipart/form-data; boundary=B';
const maxBytes = 16 * 1024 * 1024;

const read = (contentType: string, body: string | Buffer): BodyValue =>
  bodyValue(callOf({ contentType, body: Buffer.from(body) }).received, maxBytes);

const part = (head: string, value: string): string => `--B\r\n${head}\r\n\r\n${value}\r\n`;
const field = (name: string, value: string): string =>
  part(`Content-Disposition: form-data; name="${name}"`, value);
const nested = (depth: number): string => `{"amount":9,"x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

const amount = (...amounts: unknown[]): BodyValue => ({
  kind: 'value',
  readings: amounts.map((it) => ({ amount: it })),
});
const unclear: BodyValue = { kind: 'unclear' };
const none: BodyValue = { kind: 'none' };

const cases: readonly [name: string, contentType: string, body: string | Buffer, want: BodyValue][] = [
  ['JSON', json, '{"amount":9}', amount(9)],
  ['JSON behind a byte order mark', json, '\ufeff{"amount":9}', amount(9)],
  ['JSON behind much white space, as text', 'text/plain', `${' \r\n\t'.repeat(500)}{"amount":9}`, amount(9)],
  ['JSON as XML', 'text/xml', '{"amount":9}', amount(9)],
  ['JSON as multipart', 'multipart/mixed; boundary=B', '{"amount":9}', amount(9)],
  ['JSON without a type', '', '{"amount":9}', amount(9)],
  ['a scalar that is declared as JSON', json, '"yes"', { kind: 'value', readings: ['yes'] }],
  ['a key twice', json, '{"amount":99999,"amount":1}', unclear],
  ['a key twice, once escaped', json, '{"amount":99999,"\\u0061mount":1}', unclear],
  ['a key twice further in', json, '{"a":[{"b":{"x":1,"y":{},"x":2}}]}', unclear],
  [
    'a key once in each object',
    json,
    '[{"amount":1,"x":{"amount":2}},{"amount":"amount"}]',
    { kind: 'value', readings: [[{ amount: 1, x: { amount: 2 } }, { amount: 'amount' }]] },
  ],
  ['nesting past the bound', json, nested(jsonDepthMax + 1), unclear],
  ['JSON lines', 'application/x-ndjson', '{"amount":1}\n\r\n{"amount":9}\n', amount(1, 9)],
  ['JSON lines of any type', 'text/plain', '{"amount":1}\n{"amount":9}', amount(1, 9)],
  ['a key twice in a JSON line', json, '{"amount":1}\n{"amount":9,"amount":1}', unclear],
  ['JSON texts on one line', json, '{"amount":1}{"amount":9}', unclear],
  ['more JSON lines than are read', json, '1\n'.repeat(10_001), unclear],
  ['what begins like JSON', 'text/plain', '{"amount":9', unclear],
  ['what claims to be JSON', json, 'amount=9', unclear],
  ['JSON that is not UTF-8', json, Buffer.from('{"amount":9,"x":"\xff"}', 'latin1'), unclear],
  ['JSON in UTF-16', json, Buffer.from('{"amount":9}', 'utf16le'), unclear],
  ['JSON in UTF-16 with its mark', '', Buffer.from('\ufeff{"amount":9}', 'utf16le'), unclear],
  ['a form in another character set', `${form}; charset=ibm037`, 'amount=9', unclear],
  ['a JSON body over the bound', json, `{"amount":9,"x":"${'x'.repeat(structuredBytesMax)}"}`, unclear],
  ['a form over the bound', form, `amount=9&x=${'x'.repeat(structuredBytesMax)}`, unclear],
  ['a form', form, 'amount=9&a+b=%31', { kind: 'value', readings: [{ amount: '9', 'a b': '1' }] }],
  ['a form with escaped names', form, '%61mount=9', amount('9')],
  ['a form with a field twice', form, 'amount=99999&amount=1', amount('99999', '1')],
  ['a form without a type', '', 'amount=9', amount('9')],
  [
    'a form with a field in two spellings',
    form,
    'amount=1&+Amount=9',
    { kind: 'value', readings: [{ amount: '1' }, { ' Amount': '9' }] },
  ],
  [
    'a form that some servers split at semicolons as well',
    form,
    'a=1&x=2;amount=9&b=3',
    {
      kind: 'value',
      readings: [
        { a: '1', x: '2;amount=9', b: '3' },
        { x: '2', amount: '9' },
      ],
    },
  ],
  [
    'a form with fields of fields',
    form,
    'order[amount]=9&items[0][price]=1&items[1][price]=2&tags[]=a&tags[]=b&__proto__[x]=1',
    {
      kind: 'value',
      readings: [
        JSON.parse(
          '{"order[amount]":"9","order":{"amount":"9"},"items[0][price]":"1","items[1][price]":"2","items":{"0":{"price":"1"},"1":{"price":"2"}},"tags[]":"a","tags":{"":"a"},"__proto__[x]":"1","__proto__":{"x":"1"}}',
        ),
        { 'tags[]': 'b', tags: { '': 'b' } },
      ],
    },
  ],
  [
    'a form with a field that is a text and has fields',
    form,
    'order=x&order[amount]=9&a[b][c]=1&a[b]=2',
    {
      kind: 'value',
      readings: [
        { order: 'x', 'order[amount]': '9', 'a[b][c]': '1', a: { b: { c: '1' } }, 'a[b]': '2' },
        { order: { amount: '9' } },
        { a: { b: '2' } },
      ],
    },
  ],
  [
    'a form with fields nested deeper than paths lead',
    form,
    `a${'[b]'.repeat(32)}=1`,
    { kind: 'value', readings: [{ [`a${'[b]'.repeat(32)}`]: '1' }] },
  ],
  ['more pieces between semicolons than are read', form, `x=${';a'.repeat(formFieldsMax)}`, unclear],
  ['a form behind a bracket', form, '{&amount=9', unclear],
  [
    'a form that is JSON as well',
    form,
    '{"x":"&amount=9&"}',
    { kind: 'value', readings: [{ x: '&amount=9&' }, { '{"x":"': '', amount: '9', '"}': '' }] },
  ],
  [
    'a form with __proto__',
    form,
    '__proto__=9',
    { kind: 'value', readings: [JSON.parse('{"__proto__":"9"}')] },
  ],
  ['more fields than are read', form, 'a&'.repeat(formFieldsMax + 1), unclear],
  [
    'multipart fields',
    multipart,
    `${field('amount', '9')}${field('x', 'a\r\nb')}--B--\r\n`,
    {
      kind: 'value',
      readings: [{ amount: '9', x: 'a\r\nb' }],
    },
  ],
  [
    'a multipart field twice',
    multipart,
    `${field('amount', '1')}${field('amount', '9')}--B--`,
    amount('1', '9'),
  ],
  ['an empty multipart field', multipart, `${field('amount', '')}--B--`, amount('')],
  [
    'JSON in a part without a name',
    'multipart/related; boundary="B"',
    `${part('Content-Type: application/json', '{"amount":9}')}--B--`,
    amount(9),
  ],
  ['a part without a head', 'multipart/mixed; boundary=B', '--B\r\n\r\n{"amount":9}\r\n--B--', amount(9)],
  [
    'a part with a transfer encoding',
    multipart,
    `${part('Content-Disposition: form-data; name="amount"\r\nContent-Transfer-Encoding: base64', 'OQ==')}--B--`,
    unclear,
  ],
  [
    'a part in UTF-16',
    multipart,
    `${part('Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=utf-16', '9')}--B--`,
    unclear,
  ],
  [
    'a part with two names',
    multipart,
    `${part('Content-Disposition: form-data; name="a"; name="amount"', '9')}--B--`,
    unclear,
  ],
  [
    'a part with an escaped name',
    multipart,
    `${part('Content-Disposition: form-data; name="am\\ount"', '9')}--B--`,
    unclear,
  ],
  [
    'a part with an encoded name',
    multipart,
    `${part("Content-Disposition: form-data; name*=utf-8''%61mount", '9')}--B--`,
    unclear,
  ],
  ['a form part without a name', multipart, `${part('X: y', '9')}--B--`, unclear],
  [
    'a folded part head',
    multipart,
    `${part('Content-Disposition: form-data;\r\n name="amount"', '9')}--B--`,
    unclear,
  ],
  ['a part head over the bound', multipart, `${part(`X: ${'x'.repeat(3000)}`, '9')}--B--`, unclear],
  ['multipart without an end', multipart, field('amount', '9'), unclear],
  ['multipart without a boundary', 'multipart/form-data', `${field('amount', '9')}--B--`, unclear],
  ['multipart with two boundaries', `${multipart}; boundary=C`, `${field('amount', '9')}--B--`, unclear],
  ['text before the parts', multipart, `amount=9\r\n${field('x', '1')}--B--`, unclear],
  ['text behind the parts', multipart, `${field('x', '1')}--B--\r\n--C\r\n`, unclear],
  ['a boundary inside a line', multipart, `${field('x', '1 --B')}--B--`, unclear],
  ['more parts than are read', multipart, `${field('a', '').repeat(10_001)}--B--`, unclear],
  ['prose', 'text/plain', 'what an amount, 5 = 5', none],
  ['XML', 'text/xml', '<amount>9</amount>', none],
  ['no body', json, '', none],
];

for (const [name, contentType, body, want] of cases) {
  t.test(`reads ${name}`, async (t) => t.strictSame(structuredClone(read(contentType, body)), want));
}

t.test('nesting up to the bound is read', async (t) => {
  t.equal(read(json, nested(jsonDepthMax)).kind, 'value');
  t.equal(read(form, 'a&'.repeat(formFieldsMax)).kind, 'value');
});

t.test('a body is taken apart once, and one that cannot be is unclear', async (t) => {
  const call = callOf({
    contentType: json,
    contentEncoding: 'gzip',
    body: gzipSync('{"amount":9}'),
  }).received;
  t.strictSame(bodyValue(call, maxBytes), amount(9));
  t.equal(bodyValue(call, maxBytes), bodyValue(call, maxBytes));
  const broken = callOf({
    contentType: json,
    contentEncoding: 'gzip',
    body: Buffer.from('{"amount":9}'),
  }).received;
  t.strictSame(bodyValue(broken, maxBytes), unclear);
});

t.test('names may be hidden where ASCII is not written as itself', async (t) => {
  const hides = (contentType: string, body: string | Buffer): boolean =>
    mayHideNames(callOf({ contentType, body: Buffer.from(body) }).received, maxBytes);
  t.equal(hides(json, Buffer.from('{"a":1}', 'utf16le')), true);
  t.equal(hides(`${json}; charset=utf-7`, '+AHs-'), true);
  t.equal(hides(`${json}; charset="UTF-8"`, '{}'), false);
  t.equal(hides('application/octet-stream', Buffer.from([0, 1, 2, 3])), false);
});

t.test('DENY on an amount is not passed by the shape of the body', async (t) => {
  const condition = { body_path_gt: { path: '$.amount', value: 1000 } };
  const set = compilePolicies([policyOf('limits', [{ condition }])]);
  const decide = (contentType: string, body: string | Buffer) => {
    const call = callOf({ contentType, body: Buffer.from(body) }).received;
    const facts = factsOf({
      bodyTexts: [call.body],
      bodyHidesNames: mayHideNames(call, maxBytes),
      bodyValue: () => bodyFields(call, maxBytes),
    });
    return set.decide(facts).action;
  };
  const over = '{"amount":99999}';
  const denied: [contentType: string, body: string | Buffer][] = [
    [json, `\ufeff${over}`],
    [json, '{"amount":99999,"amount":1}'],
    [json, `{"amount":99999,"x":${'['.repeat(600)}${']'.repeat(600)}}`],
    [json, Buffer.from(over, 'utf16le')],
    ['text/xml', over],
    ['multipart/mixed', over],
    [multipart, `${field('amount', '99999')}--B--`],
    ['application/x-ndjson', `{"amount":1}\n${over}`],
    ['text/plain', `${' '.repeat(200)}${over}`],
    ['', 'amount=99999'],
    [form, 'amount=99999&amount=1'],
    [form, 'amount=1&amount=99999'],
    [form, '{&amount=99999'],
    [form, `amount=1&${'a&'.repeat(1_000_000)}amount=99999`],
    [json, '{"amount":[99999]}'],
    [form, 'amount[]=99999'],
    [form, `payload=${encodeURIComponent(over)}`],
    [multipart, `${field('payload_json', over)}--B--`],
    [multipart, '--B\r\nContent-Disposition: form-data; name="am\\ount"\r\n\r\n99999\r\n--B--'],
    [multipart, "--B\r\nContent-Disposition: form-data; name*=utf-8''%61mount\r\n\r\n99999\r\n--B--"],
    ['application/yaml', 'amount: 99999'],
    ['application/xml', '<amount>99999</amount>'],
    ['application/cbor', Buffer.from('a166616d6f756e741a0001869f', 'hex')],
    ['application/vnd.kubernetes.protobuf', Buffer.from('k8s\0\x0a\x02')],
  ];
  for (const [contentType, body] of denied)
    t.equal(decide(contentType, body), 'DENY', `${contentType} ${body.toString().slice(0, 40)}`);
  // By the JSONPath this does not match: `$[*].amount` does.
  t.equal(decide(json, `[${over}]`), undefined);
  t.equal(decide('application/xml', '<price>99999</price>'), undefined, 'XML without the name');
  t.equal(decide(json, '{"amount":1}'), undefined);
});
