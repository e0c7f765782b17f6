import t from 'tap';
import { validateConfig } from '../../src/config/load.ts';
import { dataClasses, type Finding, type InspectedCall } from '../../src/core/call.ts';
import { RefusedCall } from '../../src/decision/pipeline.ts';
import { inspect } from '../../src/decision/stages/inspect.ts';
import { redactedUrl } from '../../src/decision/trace/redacted.ts';
import { decodeViews } from '../../src/inspect/decode/views.ts';
import { counts, sanitizedBody } from '../../src/inspect/parts/sanitize.ts';
import { compilePolicies } from '../../src/policy/index.ts';
import { dress, type Encoder, encoders } from '../inspect/decode/dress.ts';
import { type CallParts, callOf, findingOf } from '../support/call.ts';
import { detectors, engine } from '../support/detectors.ts';
import { examplesOf } from '../support/examples.ts';
import { injections } from '../support/injections.ts';
import { meanings } from '../support/meanings.ts';
import { expandSample } from '../support/samples.ts';
import { type Carrier, carriers } from './carriers.ts';

/*
 * What is redacted holds: whatever a detector finds, in whatever body and dress, the redacted body shows nothing when it is read again,
 * is what it was in all other respects, and stays as it is when it is redacted again.
 */

const page = { rules: compilePolicies([]), engine };
const config = validateConfig(
  { tenants: [{ id: 'acme', limits: { scan_timeout: '60s' } }] },
  { file: undefined, env: {} },
);
const tenant = config.tenants.get('acme') ?? config.defaultTenant('acme');
const stage = inspect({
  policies: { rulesFor: () => page, lastKnown: () => page },
  clock: () => 0,
  injections,
  meanings,
});

async function inspected(fields: CallParts): Promise<InspectedCall> {
  const call = await stage.run(callOf({ tenant, ...fields }));
  if (call instanceof RefusedCall) throw call.error;
  return call;
}

const readBody = (contentType: string, body: Buffer): Promise<InspectedCall> =>
  inspected({ contentType, body });

const found = (call: InspectedCall): Finding[] =>
  call.findings.filter((it) => it.part === 'body' && counts(it));

/** Long enough to be looked for, and no word or number of others. */
const valueBytesMin = 8;
const bounds = { maxDecodedBytes: 1 << 23, depthMax: 3, isOver: () => false };

/** The secrets that stand in some form of a body. */
function secretsIn(body: Buffer, isForm: boolean): Set<string> {
  const values = decodeViews(body, { ...bounds, isForm }).views.flatMap((view) =>
    engine
      .find(view.bytes, { matchesMax: 1000, isOver: () => false })
      .matches.filter(({ detector, confidence }) => detector.class === 'SECRETS' && confidence !== 'low')
      .map(({ start, end }) => view.bytes.toString('latin1', start, end)),
  );
  return new Set(values.filter((value) => value.length >= valueBytesMin));
}

/** What is wrong with the redacted form of a body that carries a text; `undefined` where nothing is, or nothing was found. */
async function faultOf({ contentType, wrap, isKept }: Carrier, text: string): Promise<string | undefined> {
  const body = Buffer.from(wrap(text));
  const call = await readBody(contentType, body);
  if (call.readings.unreadable !== undefined) return call.readings.unreadable;
  if (found(call).length === 0) return undefined;
  const redacted = sanitizedBody(call, dataClasses);
  if (!redacted) return 'cannot be redacted';
  const again = await readBody(contentType, redacted);
  const left = found(again).map((it) => it.kind);
  if (left.length > 0) return `${left.join()} is found again`;
  if (!sanitizedBody(again, dataClasses)?.equals(redacted)) return 'is another when it is redacted again';
  if (!isKept(redacted.toString(), body.toString())) return 'lost its structure';
  const isForm = contentType.endsWith('urlencoded');
  const { views } = decodeViews(redacted, { ...bounds, isForm });
  const secrets = secretsIn(body, isForm);
  const isLeft = views.some((view) => [...secrets].some((it) => view.bytes.includes(it, 0, 'latin1')));
  return isLeft ? 'still has a secret' : undefined;
}

interface Sample {
  readonly name: string;
  readonly text: string;
  readonly index: number;
}

const samples: readonly Sample[] = detectors
  .flatMap(({ id }) => examplesOf({ id }).match.map((example, nth) => ({ id, example, nth })))
  .map(({ id, example, nth }, index) => ({ name: `${id} ${nth + 1}`, text: expandSample(example), index }));

/** Takes one of a list for each sample, another one for the next. */
const turn = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;

/** Examples of a detector, of which each has two at least, stand side by side: they take turns, and so each meets everything. */
const isTurn = (index: number, nth: number): boolean => (index + nth) % 2 === 0;

t.test('what is found in any body is gone for good, and the body is what it was', async (t) => {
  for (const { name, text, index } of samples)
    for (const [nth, carrier] of carriers.entries()) {
      if (!isTurn(index, nth)) continue;
      const fault = await faultOf(carrier, text);
      if (fault) t.fail(`${name} in ${carrier.name} ${fault}`);
    }
  t.pass(`${samples.length} samples in ${carriers.length} bodies`);
});

t.test(
  'the values of a Kubernetes Secret are cut one by one, and JSON stays JSON, also in JSON',
  async (t) => {
    const data = { conn: 'TWFuY2hlc3RlcjEh', other: 'cG9zdGdyZXM6Ly9hcHA6UDRzc0BkYi5leGFtcGxl' };
    const secret = JSON.stringify({ apiVersion: 'v1', data, kind: 'Secret' });
    for (const [contentType, text] of [
      ['application/json', secret],
      ['text/plain', secret],
      ['application/json', JSON.stringify({ content: secret, next: 1 })],
    ] as const) {
      const redacted = sanitizedBody(await readBody(contentType, Buffer.from(text)), dataClasses);
      const body = JSON.parse(String(redacted));
      const inner = body.content === undefined ? body : JSON.parse(body.content);
      t.match(inner, {
        apiVersion: 'v1',
        data: { conn: /^\[REDACTED/, other: /^\[REDACTED/ },
        kind: 'Secret',
      });
      t.same(Object.keys(inner.data), ['conn', 'other']);
    }
  },
);

t.test('a secret at the end of a string of JSON in JSON is cut without the end', async (t) => {
  const texts = [
    'kind: Secret\nstringData:\n  hook: https://hooks.acme.dev/in/gtdktpnpkwuqljuvomydgisp',
    'sh -c "openssl rsa -in k.pem -passin pass:zvprRqPy3g7!"',
    'send "username admin privilege 15 secret 0 WBwijRiS432EebBV7"',
    'sh -c "mosquitto_pub -h mq -u a -P MQJ8e5hxQW3"',
  ];
  for (const text of texts) {
    const body = Buffer.from(JSON.stringify({ arguments: JSON.stringify({ text, next: 1 }) }));
    const call = await readBody('application/json', body);
    t.ok(found(call).length > 0, text);
    const redacted = JSON.parse(String(sanitizedBody(call, dataClasses)));
    t.match(JSON.parse(redacted.arguments), { text: /\[REDACTED:[\w-]+\]"?$/, next: 1 });
  }
});

t.test('so it is in any dress', async (t) => {
  for (const { name, text, index } of samples)
    for (const [nth, encoder] of encoders.entries()) {
      if (!isTurn(index, nth)) continue;
      const carrier = turn(carriers, index + nth);
      const fault = await faultOf(carrier, encoder.encode(text));
      if (fault) t.fail(`${name} as ${encoder.name} in ${carrier.name} ${fault}`);
    }
  t.pass(`${samples.length} samples in ${encoders.length} dresses`);
});

/** Each sample is dressed in every eighth pair of its turn, the next sample in other ones: all pairs have their samples. */
const everyNth = 8;

t.test('so it is in two dresses, one over the other', async (t) => {
  const pairs = new Set<string>();
  for (const { name, text, index } of samples)
    for (const [nth, outer] of encoders.entries()) {
      if ((index + nth) % everyNth !== 0) continue;
      const inner: Encoder = turn(encoders, index * 5 + nth);
      const carrier = turn(carriers, index + nth);
      pairs.add(`${inner.name} in ${outer.name}`);
      const fault = await faultOf(carrier, dress(text, [inner, outer]));
      if (fault) t.fail(`${name} as ${inner.name} in ${outer.name} in ${carrier.name} ${fault}`);
    }
  t.equal(pairs.size, encoders.length ** 2, 'every pair of dresses');
});

/** A password that nothing but the word before it gives away. */
const password = (): string => `Zk7#${Math.random().toString(36).slice(2, 10)}!q`;
const plain = (text: string): Buffer => Buffer.from(text);

t.test('a password that is told in words ends with the field of a form', async (t) => {
  const secret = password();
  const form = 'application/x-www-form-urlencoded';
  for (const sentence of [`the password is ${secret}`, `my password: ${secret}`]) {
    const note = new URLSearchParams({ note: sentence, again: secret, user: 'ann', amount: '12' });
    for (const body of [String(note), String(note).replaceAll('+', '%20')]) {
      const redacted = sanitizedBody(await readBody(form, plain(body)), []);
      const fields = new URLSearchParams(String(redacted));
      t.match(fields.get('note'), /(?:is|:) \[REDACTED:[a-z-]+\]$/);
      t.match(fields.get('again'), /^\[REDACTED:[a-z-]+\]$/);
      t.equal(`${fields.get('user')} ${fields.get('amount')}`, 'ann 12');
    }
  }
});

/** Of each: the body, and what has to be gone. */
const formBodies: readonly (readonly [body: string, ...gone: string[]])[] = [
  ['comment=the password is Xk9vTq2m&api_key=Zx81kLq02MvT7yWn3', 'Xk9vTq2m', 'Zx81kLq02MvT7yWn3'],
  ['note=the password is Xk9vTq2m&password=Hq8Lw2Zr5t', 'Xk9vTq2m', 'Hq8Lw2Zr5t'],
  ['dsn=postgres://app:pw&x=1&b=postgres://v:Lk3mNq8z@h.io/y', 'Lk3mNq8z'],
  ['note=the+password+is+Xk9%26vT=q2m&b=1', 'Xk9', 'vT', 'q2m'],
  ['data={"password":"Xk9&vTq2mZp81Lw"}&b=1', 'Xk9', 'vTq2mZp81Lw'],
  ['password: "Xk9&vT#q2m&Zp81"', 'Xk9', 'vT#q2m', 'Zp81'],
  ['Please store this. The password is X&k9v=Tq2mZp81Lw', 'k9v', 'Tq2mZp81Lw'],
  ['a=redis://:pa&ssXk9vTq2mZ@10.0.0.5:6379/0', 'ssXk9vTq2mZ'],
  ['note=password: p4ss&amp;Wq9z7Lk2vB', 'p4ss', 'Wq9z7Lk2vB'],
];

t.test('of a form no part of a secret is left, whatever sign stands in it', async (t) => {
  for (const [body, ...gone] of formBodies) {
    const call = await readBody('application/x-www-form-urlencoded', plain(body));
    const redacted = sanitizedBody(call, [])?.toString() ?? body;
    for (const part of gone) t.notOk(redacted.includes(part), `${body.slice(0, 24)}… ${part.slice(0, 2)}…`);
  }
});

t.test('of many secrets each is cut in all places, also where two stand one over the other', async (t) => {
  const secrets = Array.from({ length: 200 }, (_, nth) => `Zk${(nth * 7919).toString(36)}#q${nth}!x`);
  const [one, other] = ['pq7#Zr4!Kw', '4!KwTb9#Lm'] as const;
  const body = JSON.stringify({
    accounts: [...secrets, one, other].map((password) => ({ password })),
    log: [secrets.toReversed().join(' '), `over ${one}Tb9#Lm, and again ${'x'.repeat(40)}`],
  });
  const redacted = sanitizedBody(await readBody('application/json', plain(body)), [])?.toString() ?? '';
  t.same(Object.keys(JSON.parse(redacted)), ['accounts', 'log']);
  for (const secret of [...secrets, one, other, 'Tb9#']) if (redacted.includes(secret)) t.fail(secret);
});

t.test('places of many secrets that begin alike are found, and the time is kept', async (t) => {
  const secrets = Array.from({ length: 60 }, (_, nth) => `${'a'.repeat(12 + nth)}Zk7q${nth}Lm9xW2vT5`);
  const body = Buffer.from(
    `${secrets.map((it) => `bearer ${it}`).join('\n')}\n${secrets.join(' ')} ${'a'.repeat(60_000)}`,
  );
  const call = await readBody('text/plain', body);
  const redacted = sanitizedBody(call, [])?.toString() ?? '';
  for (const [nth, secret] of secrets.entries()) if (redacted.includes(secret)) t.fail(`secret ${nth}`);
  t.match(redacted, /REDACTED/);
});

t.test('a secret that is told in one place is cut in all', async (t) => {
  const secret = password();
  const body = JSON.stringify({
    password: secret,
    log: [`sent ${secret} to them`, Buffer.from(`again: ${secret} it is`).toString('base64')],
  });
  const call = await readBody('application/json', plain(body));
  const redacted = sanitizedBody(call, [])?.toString() ?? '';
  t.same(Object.keys(JSON.parse(redacted)), ['password', 'log']);
  t.match(JSON.parse(redacted).log, [/^sent \[REDACTED:[a-z-]+\] to them$/, /^\[REDACTED:[a-z-]+\]$/]);
});

t.test('a value that stands a thousand times is too much', async (t) => {
  const secret = password();
  const of = (count: number): Promise<InspectedCall> =>
    readBody('text/plain', plain(`password: ${secret}\n${`and ${secret} then\n`.repeat(count)}`));
  t.equal((await of(500)).readings.unreadable, undefined);
  t.match((await of(1500)).readings.unreadable, /too many findings/);
});

t.test('a birthday that stands a thousand times is told', async (t) => {
  const line = 'born 1972-05-17, and on 1972-05-17 then\n';
  const call = await readBody('text/plain', plain(`date of birth: 1972-05-17\n${line.repeat(1500)}`));
  t.equal(call.readings.unreadable, undefined);
  t.ok(found(call).some((it) => it.class === 'PII'));
  t.ok(call.inspection.uncounted.includes('PII'), 'as a class of which not all are cut');
});

t.test('a marker is no finding, and no keyword of one', async (t) => {
  for (const { id } of detectors)
    for (const text of [`[REDACTED:${id}]`, `secret: [REDACTED:${id}]`, `"password": "[REDACTED:${id}]"`]) {
      const kinds = found(await readBody('text/plain', plain(text))).map((it) => it.kind);
      if (kinds.length > 0) t.fail(`${kinds.join()} in the marker of ${id}`);
    }
  const [id, token] = [detectors[0]?.id, expandSample('ghp_{crc:36}')];
  for (const text of [
    `[REDACTED:${id}]${token}`,
    `[REDACTED:${token}]`,
    `password=[REDACTED:${id}], ${token}`,
  ])
    t.equal(
      found(await readBody('text/plain', plain(text))).length,
      1,
      'what stands beside or in place of one is found',
    );
});

t.test('what cannot be cut clean is not sent', async (t) => {
  const text = { contentType: 'text/plain', body: plain('0123456789') };
  const cut = (fields: CallParts) =>
    sanitizedBody(callOf({ ...text, findings: [findingOf({ start: 2, end: 4 })], ...fields }), []);
  const rest = (times: number) => {
    let count = 0;
    return () => (++count < times ? [findingOf({ start: 0, end: 1 })] : []);
  };
  t.equal(
    cut({ readAgain: rest(4) })
      ?.toString()
      .endsWith('456789'),
    true,
    'in four rounds it may become clean',
  );
  t.equal(cut({ readAgain: rest(5) }), undefined, 'then it is given up');
  t.equal(cut({ readAgain: () => undefined }), undefined, 'nor is what cannot be read');
  t.equal(cut({ findings: [findingOf({ part: 'head' })] }), undefined, 'nor what sits in the head');
  t.equal(cut({ findings: [findingOf({ class: 'PII' })] }), text.body, 'of other classes nothing is cut');
});

t.test('of a head with more findings than are counted a trace has the origin alone', async (t) => {
  const many = Array.from({ length: 1100 }, (_, index) => `m=ann.${index}@foundry-lane.org`).join('&');
  const call = await inspected({ url: `https://a.example/path?${many}` });
  t.match(call.readings.unreadable, /too many/);
  t.equal(redactedUrl(call), 'https://a.example/');
});
