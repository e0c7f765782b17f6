import t from 'tap';
import type { CallSoFar, IncidentCause, Operation } from '../../../src/core/call.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import type { Log } from '../../../src/core/log.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { createRecorder } from '../../../src/decision/trace/record.ts';
import {
  previewBytesMax,
  redactedPreview,
  redactedUrl,
  urlLengthMax,
} from '../../../src/decision/trace/redacted.ts';
import { recordedFindingsMax, traceLine } from '../../../src/decision/trace/trace-line.ts';
import { headText } from '../../../src/inspect/parts/head-text.ts';
import type { RecordedCall } from '../../../src/state/store.ts';
import { callOf, findingOf, identityOf, operationOf } from '../../support/call.ts';
import { trustLosses } from '../../support/noticing.ts';
import { verdictOf } from '../verdict.ts';

const identity = identityOf({ envName: 'production', agentName: 'support-bot' });

t.test('a trace is one line of JSON with all that is known of the call', async (t) => {
  const call = callOf({
    url: 'https://a.example/x?q="1"',
    receivedAtMs: Date.parse('2026-03-04T05:06:07.089Z'),
    ...{ identity, operation: operationOf(), findings: [findingOf()], verdict: verdictOf('DENY') },
    head: Buffer.from('https://a.example/x?q=%221%22'),
  });
  const line = traceLine(call, undefined);
  t.notMatch(line, '\n');
  t.match(JSON.parse(line), {
    trace_id: call.traceId,
    at: '2026-03-04T05:06:07.089Z',
    tenant_id: 'acme',
    agent_id: identity.agentId,
    agent_name: 'support-bot',
    key_prefix: 'iv_live_abcd',
    method: 'POST',
    url: 'https://a.example/x?q=%221%22',
    tool_name: 'custom_proxy',
    decision: 'DENY',
    findings: [{ class: 'SECRETS', kind: 'some-token', location: 'body:$.a', confidence: 'high' }],
  });
});

t.test('hostile text in any field stays inside it', async (t) => {
  const evil = 'x","decision":"ALLOW"}\n{"a":"\u2028';
  const named = { agentName: ownName(evil), runtimeType: ownName(evil) };
  const head = Buffer.from(callOf().target.href);
  const call = callOf({ method: evil, identity, ...named, head, verdict: verdictOf('DENY') });
  const line = traceLine(call, undefined);
  t.notMatch(line, '\n');
  t.match(JSON.parse(line), { decision: 'DENY', method: evil, agent_name: evil, runtime_type: evil });
});

t.test('the fragment of a described call is part of its URL, and is redacted like the rest', async (t) => {
  const url = 'https://a.example/x?q=1#part-the-secret-end';
  const head = Buffer.from(headText(callOf({ url })), 'latin1');
  t.equal(redactedUrl(callOf({ url, head })), 'https://a.example/x?q=1#part-the-secret-end');
  const start = head.indexOf('the-secret');
  const findings = [findingOf({ part: 'head', start, end: start + 'the-secret'.length })];
  t.equal(
    redactedUrl(callOf({ url, head, findings })),
    'https://a.example/x?q=1#part-[REDACTED:some-token]-end',
  );
});

t.test('a host of the organisation is shown: whoever approves a call must see where it goes', async (t) => {
  const url = 'https://git.corp.acme.com/ledger/core.git?token=the-secret';
  const head = Buffer.from(headText(callOf({ url })), 'latin1');
  const start = head.indexOf('the-secret');
  const findings = [
    findingOf({ part: 'head', class: 'INTERNAL', start: 8, end: 41 }),
    findingOf({ part: 'head', start, end: start + 'the-secret'.length }),
  ];
  t.equal(
    redactedUrl(callOf({ url, head, findings })),
    'https://git.corp.acme.com/ledger/core.git?token=[REDACTED:some-token]',
  );
});

t.test('a refusal says its code, and the time is right in every millisecond', async (t) => {
  const at = (receivedAtMs: number): string => {
    return JSON.parse(
      traceLine(callOf({ receivedAtMs, identity }), new GatewayError('RATE_LIMITED', 'slower')),
    ).at;
  };
  for (const ms of [0, 1, 999, 1000, 1001, 1_700_000_000_000, 1_700_000_000_999, 1_700_000_001_000]) {
    t.equal(at(ms), new Date(ms).toISOString());
  }
});

t.test('of a call that nobody has read, what its caller wrote is not kept', async (t) => {
  const secret = `ghp_${'a'.repeat(36)}`;
  const call = callOf({
    url: `https://a.example:8443/${secret}?q=${secret}`,
    claimed: { agentName: secret, runtimeType: secret },
    identity,
  });
  const line = traceLine(call, new GatewayError('IP_NOT_ALLOWED', 'elsewhere'));
  t.notMatch(line, secret);
  t.match(JSON.parse(line), { url: 'https://a.example:8443/', agent_name: 'support-bot' });
});

t.test(
  'a trace names so many findings and so much of the URL, an approval so much of the body',
  async (t) => {
    const secret = 'the-secret';
    const path = `/${'x'.repeat(urlLengthMax)}${secret}`;
    const url = `https://a.example${path}`;
    const body = Buffer.from('y'.repeat(previewBytesMax + 100));
    const { href } = callOf({ url }).target;
    const fields = { url, body, identity, head: Buffer.from(href) };
    const many = Array.from({ length: recordedFindingsMax + 1 }, (_, i) =>
      findingOf({ location: `body:$[${i}]` }),
    );
    const line = JSON.parse(traceLine(callOf({ ...fields, findings: many }), undefined));
    t.equal(line.findings.length, recordedFindingsMax);
    t.equal(line.url.length, urlLengthMax);
    const start = href.indexOf(secret);
    const findings = [
      // It begins before the bound and ends behind it.
      findingOf({ part: 'head', start: urlLengthMax - 5, end: start + secret.length }),
      findingOf({ start: previewBytesMax - 5, end: previewBytesMax + 5 }),
    ];
    const call = callOf({ ...fields, findings });
    t.ok(redactedUrl(call).endsWith('x[RED…'), 'what is cut out is cut out before the rest is');
    t.equal(redactedUrl(call).length, urlLengthMax);
    const preview = redactedPreview(call);
    t.equal(preview.slice(0, previewBytesMax), `${'y'.repeat(previewBytesMax - 5)}[REDA`);
    t.equal(preview.slice(previewBytesMax), '… [and 111 bytes more]', 'what is not shown is said');
  },
);

const previews: readonly [name: string, body: string | Buffer, want: string][] = [
  ['what turns the direction of text', 'to: "\u202emoc.live\u202c"', 'to: "\\u{202e}moc.live\\u{202c}"'],
  ['what has no width', 'de\u200blete\u{e0041}', 'de\\u{200b}lete\\u{e0041}'],
  ['what a terminal obeys', '\u001b[2Jfine\b', '\\u{1b}[2Jfine\\u{8}'],
  ['blanks that are letters', 'a\u3164\u2800', 'a\\u{3164}\\u{2800}'],
  ['tabs and lines as they are', 'a\tb\r\nc', 'a\tb\r\nc'],
  ['letters of all kinds as they are', 'naïve 漢字 😀', 'naïve 漢字 😀'],
  [
    'what is no text as far as it is some',
    Buffer.from('89504e470d0a1a0aff00', 'hex'),
    '\ufffdPNG\r\n\\u{1a}\n\ufffd\\u{0}',
  ],
];

for (const [name, body, want] of previews) {
  t.test(`whoever decides sees ${name}`, async (t) => {
    t.equal(redactedPreview(callOf({ body: Buffer.from(body) })), want);
  });
}

t.test('the preview of a body ends with a whole character', async (t) => {
  for (const begin of ['', 'a', 'ab', 'abc']) {
    const body = Buffer.from(begin + '😀'.repeat(previewBytesMax));
    const [shown = '', rest = ''] = redactedPreview(callOf({ body })).split('… ');
    t.match(shown, /^a?b?c?(😀)+$/u);
    t.equal(rest, `[and ${body.length - Buffer.byteLength(shown)} bytes more]`);
  }
  const noText = redactedPreview(callOf({ body: Buffer.alloc(previewBytesMax + 9, 0x80) }));
  t.equal(noText, `${'\ufffd'.repeat(previewBytesMax)}… [and 9 bytes more]`);
});

const noCredentials = { nameFor: () => undefined };

t.test('what an analyst should look at is told whatever became of the call', async (t) => {
  const taken: Pick<CallSoFar, 'received'>[] = [];
  const record = createRecorder({
    namesFor: () => ownName,
    journal: { append: async () => undefined, flush: async () => undefined },
    store: { noteCall: () => undefined, noteSighting: () => undefined },
    trustLosses,
    describeRefused: () => undefined,
    credentials: noCredentials,
    incidents: { take: (call) => taken.push(call) },
    log: { error: () => undefined } as unknown as Log,
  });
  const cause: IncidentCause = {
    ...{ trigger: ownName('threat-hit'), title: ownName('listed') },
    severity: 'HIGH',
  };
  const cases = [
    { decision: 'ALLOW', incidents: [], isTaken: false },
    { decision: 'ALLOW', incidents: [cause], isTaken: true },
    { decision: 'REQUIRE_APPROVAL', incidents: [cause], isTaken: true },
    { decision: 'DENY', incidents: [], isTaken: true },
  ] as const;
  for (const { decision, incidents, isTaken } of cases) {
    const call = callOf({ identity, incidents, verdict: verdictOf(decision) });
    await record(call, undefined);
    t.equal(taken.includes(call), isTaken, `${decision}, ${incidents.length} causes`);
    t.equal(traceLine(call, undefined).includes('threat-hit'), incidents.length > 0);
  }
});

t.test(
  'what a call has charged is recorded with it, and given back where it cannot be recorded',
  async (t) => {
    const charges = [{ name: 'b', day: '2026-11-21', amount: 3 }];
    const [journaled, noted]: [RecordedCall[], RecordedCall[]] = [[], []];
    let isFull = false;
    const record = createRecorder({
      namesFor: () => ownName,
      journal: {
        async append(recorded) {
          if (isFull) throw new GatewayError('STATE_UNAVAILABLE', 'the disk is full');
          journaled.push(recorded);
        },
        flush: async () => undefined,
      },
      store: {
        noteCall: (recorded) => noted.push(recorded),

        noteSighting: () => undefined,
      },
      trustLosses,
      describeRefused: () => undefined,
      credentials: noCredentials,
      incidents: { take: () => undefined },
      log: { error: () => undefined } as unknown as Log,
    });
    await record(callOf({ identity, outcome: 'call' }), undefined);
    t.equal('charges' in (journaled[0] ?? {}), false, 'most calls charge nothing');
    const charging = callOf({ identity, outcome: 'call', charges, verdict: verdictOf('DENY') });
    const { received, operation, destination, admission } = charging;
    const admitted = { received, operation, destination, admission };
    await record(admitted, new GatewayError('SHUTTING_DOWN', 'refused after it was admitted'));
    t.match(journaled[1], { charges, decision: 'DENY' });
    t.equal(noted.length, 2);
    isFull = true;
    await t.rejects(record(charging, undefined), { code: 'STATE_UNAVAILABLE' });
    t.match(noted[2], { charges, decision: 'DENY' });
  },
);

t.test('a method in which something was found, or that nobody has read, is in no trace', async (t) => {
  const method = 'X'.repeat(20);
  const operation: Operation = {
    toolName: 'custom_proxy',
    name: `http_${method.toLowerCase()}`,
    category: 'http',
    verb: 'WRITE',
    resource: {},
    principals: [],
  };
  t.match(JSON.parse(traceLine(callOf({ method, operation }), undefined)), {
    method: '[REDACTED:unread]',
    operation: '[REDACTED:unread]',
  });
  const head = Buffer.from(headText(callOf({ method })), 'latin1');
  t.match(JSON.parse(traceLine(callOf({ method, operation, head }), undefined)), { method }, 'clean');
  const start = head.indexOf(method);
  const end = start + method.length;
  const findings = [findingOf({ part: 'head', location: 'method', kind: 'some-token', start, end })];
  const line = traceLine(callOf({ method, operation, head, findings }), undefined);
  t.match(JSON.parse(line), { method: '[REDACTED:some-token]', operation: '[REDACTED:some-token]' });
  t.notMatch(line.toLowerCase(), method.toLowerCase());
});

t.test(
  'a call that is let out is recorded with the credential that belongs to it, and no other one',
  async (t) => {
    const journaled: RecordedCall[] = [];
    const record = createRecorder({
      namesFor: () => ownName,
      journal: { append: async (it) => void journaled.push(it), flush: async () => undefined },
      store: { noteCall: () => undefined, noteSighting: () => undefined },
      trustLosses,
      describeRefused: () => undefined,
      credentials: { nameFor: () => 'github-bot' },
      incidents: { take: () => undefined },
      log: { error: () => undefined } as unknown as Log,
    });
    const cases = [
      { decision: 'ALLOW', entrance: 'forward', credential: 'github-bot' },
      { decision: 'SANITIZE', entrance: 'inbound', credential: 'github-bot' },
      { decision: 'DENY', entrance: 'forward', credential: undefined },
      { decision: 'REQUIRE_APPROVAL', entrance: 'forward', credential: undefined },
      { decision: 'ALLOW', entrance: 'scan', credential: undefined },
    ] as const;
    for (const { decision, entrance, credential } of cases) {
      await record(callOf({ identity, entrance, verdict: verdictOf(decision) }), undefined);
      const recorded = journaled.at(-1);
      t.equal(recorded?.credential, credential, `${decision} by ${entrance}`);
      t.equal(JSON.parse(recorded?.line ?? '{}').credential, credential);
    }
  },
);
