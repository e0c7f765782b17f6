import { readFileSync } from 'node:fs';
import type http from 'node:http';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { parseConfig } from '../../src/config/load.ts';
import { channelTypes, eventKinds } from '../../src/config/sections/notifications.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { retryAfterMsMax } from '../../src/notify/outcome.ts';
import { testAuthority } from '../support/certificates.ts';
import { startParent } from '../support/parent.ts';
import { startRawUpstream, startUpstream, type TestUpstream } from '../support/upstream.ts';
import {
  approvalId,
  askingOf,
  channelOf,
  digestOf,
  messageOf,
  nowMs,
  send,
  traceId,
  transportWith,
} from './lab.ts';

const secretOf = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
const overHttp = ['slack', 'teams', 'discord', 'webhook', 'siem'] as const;

const bodyOf = ({ requests }: TestUpstream, at = 0) => JSON.parse(requests[at]?.body.toString() ?? '');

t.test('a message arrives in the words of its channel', async (t) => {
  const receiver = await startUpstream(t);
  for (const type of overHttp)
    t.same(
      await send(messageOf(), channelOf(type, `${receiver.origin}/hook/token`)),
      { kind: 'delivered' },
      type,
    );
  for (const { method, url, headers } of receiver.requests)
    t.match(
      { method, url, headers },
      { method: 'POST', url: '/hook/token', headers: { 'user-agent': 'Postern' } },
    );
  const [slack, teams, discord, webhook, siem] = overHttp.map((_, at) => bodyOf(receiver, at));
  t.match(slack, {
    text: 'HIGH: Call denied',
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: 'HIGH: Call denied' } },
      { type: 'section', text: { type: 'plain_text', text: 'support-bot may not delete acme/app.' } },
      { type: 'section', fields: [{}, { type: 'mrkdwn', verbatim: true, text: '*Agent*\n`support-bot`' }] },
      { type: 'context', elements: [{ text: 'Postern at `https://gate.acme.test`' }] },
    ],
  });
  const [{ contentType, content }] = teams.attachments;
  t.match(
    { contentType, ...content },
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      type: 'AdaptiveCard',
      version: '1.4',
      body: [{ type: 'TextBlock', text: 'HIGH: Call denied' }, { type: 'RichTextBlock' }],
    },
  );
  t.match(discord, {
    allowed_mentions: { parse: [] },
    embeds: [{ title: 'HIGH: Call denied', timestamp: '2026-11-22T20:15:29.000Z', color: Number }],
  });
  const data = {
    trace_id: traceId,
    severity: 'HIGH',
    agent_name: 'support-bot',
    tool_name: 'github',
    reason_codes: ['POLICY_DENY', 'RISK_HIGH'],
  };
  const event = { type: 'decision.deny', timestamp: '2026-11-22T20:15:29.000Z' };
  t.match(webhook, { ...event, data });
  t.match(siem, { id: 'msg_1', ...event, ...data });
});

t.test('what a destination answers says whether it is tried again', async (t) => {
  const answer: { status: number; headers: http.OutgoingHttpHeaders } = { status: 200, headers: {} };
  const receiver = await startUpstream(t, (_request, response) => {
    response.writeHead(answer.status, answer.headers).end('an answer that nobody repeats');
  });
  const later = { kind: 'retry' };
  const slowly = { kind: 'retry', afterMs: 900_000 };
  const never = { kind: 'refused' };
  const cases: readonly [status: number, outcome: object, headers?: http.OutgoingHttpHeaders][] = [
    [200, { kind: 'delivered' }],
    [202, { kind: 'delivered' }],
    [204, { kind: 'delivered' }],
    [301, never, { location: '/elsewhere' }],
    [307, never, { location: '/elsewhere' }],
    [400, never],
    [401, slowly],
    [403, slowly],
    [404, slowly],
    [408, later],
    [410, never],
    [413, never],
    [422, never],
    [425, later],
    [429, later],
    [429, { kind: 'retry', afterMs: 7000 }, { 'retry-after': '7' }],
    [429, { kind: 'retry', afterMs: 1500 }, { 'retry-after': '1.5' }],
    [500, later],
    [503, { kind: 'retry', afterMs: 90_000 }, { 'retry-after': new Date(nowMs + 90_000).toUTCString() }],
    [503, { kind: 'retry', afterMs: 0 }, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }],
    [503, { kind: 'retry', afterMs: retryAfterMsMax }, { 'retry-after': '99999999999999999999' }],
    [504, later],
  ];
  const channel = channelOf('webhook', `${receiver.origin}/hook`);
  for (const [status, outcome, headers = {}] of cases) {
    Object.assign(answer, { status, headers });
    const found = await send(messageOf(), channel);
    t.match(found, outcome, `${status} ${JSON.stringify(headers)}`);
    if (found.kind !== 'delivered') t.match(found.reason, String(status));
  }
  for (const odd of ['soon', '-1', '1e9', '', '12 Uhr', '5, 6', 'x'.repeat(1000)]) {
    Object.assign(answer, { status: 503, headers: { 'retry-after': odd } });
    const found = await send(messageOf(), channel);
    t.match(found, later, odd);
    t.notOk('afterMs' in found, odd);
  }
  t.ok(
    receiver.requests.every(({ url }) => url === '/hook'),
    'no redirect was followed',
  );
});

t.test('a destination that cannot be reached is tried again', async (t) => {
  const closing = await startRawUpstream(t, (socket) => socket.destroy(), { tls: false });
  const silent = await startRawUpstream(t, () => {}, { tls: false });
  const rubbish = await startRawUpstream(t, (socket) => socket.end('SSH-2.0-OpenSSH\r\n'), { tls: false });
  const transport = transportWith({ timeoutMs: 300 });
  for (const [name, { port }] of Object.entries({ closing, silent, rubbish })) {
    const channel = channelOf('webhook', `http://127.0.0.1:${port}/`);
    t.match(await send(messageOf(), channel, { transport }), { kind: 'retry', reason: String }, name);
  }
  await closing.close();
  t.match(await send(messageOf(), channelOf('webhook', `http://127.0.0.1:${closing.port}/`)), {
    kind: 'retry',
  });
});

t.test('a message that is given up ends at once, to be tried again', async (t) => {
  const silent = await startRawUpstream(t, () => {}, { tls: false });
  const channel = channelOf('webhook', `http://127.0.0.1:${silent.port}/`);
  const leaving = new AbortController();
  const sending = send(messageOf(), channel, { signal: leaving.signal });
  leaving.abort();
  t.match(await sending, { kind: 'retry' });
  t.match(await send(messageOf(), channel, { signal: leaving.signal }), { kind: 'retry' }, 'also before');
});

t.test(
  'a failure that nobody has thought of is told by its name, and by nothing that it quotes',
  async (t) => {
    const token = 'T0K3N';
    const circular: Record<string, unknown> = { token };
    circular['itself'] = circular;
    const unwritable = await send(
      messageOf({ data: circular }),
      channelOf('webhook', 'https://localhost:1/'),
    );
    t.match(unwritable, { kind: 'retry', reason: 'The notice could not be sent (TypeError).' });
  },
);

t.test('a URL whose password cannot be decoded is refused, and not quoted', async (t) => {
  const channel = channelOf('webhook', 'https://user:%ZZT0K3N@localhost:1/');
  t.same(await send(messageOf(), channel), {
    kind: 'refused',
    reason: 'The URL of the channel is not valid.',
  });
});

t.test('an answer without an end is not read to it', async (t) => {
  const ended = Promise.withResolvers<void>();
  const receiver = await startUpstream(t, (_request, response) => {
    response.on('close', () => ended.resolve());
    response.writeHead(200);
    const more = (): void => {
      if (!response.destroyed) response.write('x'.repeat(1024), () => setImmediate(more));
    };
    more();
  });
  t.same(await send(messageOf(), channelOf('webhook', receiver.origin)), { kind: 'delivered' });
  await ended.promise;
});

t.test('a certificate of somebody else is the end, one that can be renewed is not', async (t) => {
  const authority = testAuthority();
  const other = await startUpstream(t, undefined, {
    certificate: authority.issue({ names: ['other.example'] }),
  });
  const expired = await startUpstream(t, undefined, { certificate: authority.issue({ validToDays: -0.5 }) });
  t.match(await send(messageOf(), channelOf('webhook', other.origin)), {
    kind: 'refused',
    reason: /another host/,
  });
  t.match(await send(messageOf(), channelOf('webhook', expired.origin)), {
    kind: 'retry',
    reason: /expired/,
  });
  t.strictSame([...other.requests, ...expired.requests], [], 'nothing was sent');
});

t.test('targets pass the guard', async (t) => {
  const receiver = await startUpstream(t);
  const blocked = { kind: 'refused', reason: /not allowed/ };
  for (const type of overHttp)
    t.match(
      await send(messageOf(), channelOf(type, receiver.origin, { allow_private: false })),
      blocked,
      type,
    );
  const ownListeners = () => [{ address: '127.0.0.1', port: receiver.port }];
  t.match(
    await send(messageOf(), channelOf('webhook', receiver.origin), {
      transport: transportWith({ ownListeners }),
    }),
    blocked,
    'allow_private does not lead to the gateway itself',
  );
  for (const url of [
    'http://169.254.169.254/latest',
    'http://metadata.google.internal/',
    'http://[fd00:ec2::254]/',
  ])
    t.match(await send(messageOf(), channelOf('webhook', url)), blocked, url);
  t.match(
    await send(messageOf(), channelOf('webhook', receiver.origin), {
      transport: transportWith({ deny: ['localhost'] }),
    }),
    blocked,
    'upstream.deny',
  );
  t.strictSame(receiver.requests, []);
});

t.test('notices leave through the parent proxy, to the address that was judged', async (t) => {
  const receiver = await startUpstream(t);
  const parent = await startParent(t);
  const url = `http://127.0.0.1:${parent.port}`;
  const transport = transportWith({ parent: { url, noProxy: [], resolves: false } });
  const [, port] = receiver.origin.split('localhost:');
  t.same(await send(messageOf(), channelOf('webhook', receiver.origin), { transport }), {
    kind: 'delivered',
  });
  t.match(parent.asked, [{ authority: `127.0.0.1:${port}` }]);
  const inside = channelOf('webhook', receiver.origin, { allow_private: false });
  t.match(await send(messageOf(), inside, { transport }), { kind: 'refused' });
  t.equal(parent.asked.length, 1, 'and is not asked for one that may not be');
});

t.test('no reason tells the token of a URL, or a secret', async (t) => {
  const receiver = await startUpstream(t, (request, response) => {
    response.writeHead(Number(request.headers['x-status'])).end(request.url);
  });
  const token = 'T0K3N-in-the-path';
  const secret = secretOf(7);
  const urls = [
    `${receiver.origin}/${token}?${token}`,
    `http://user:${token}@127.0.0.1:1/`,
    `http://169.254.169.254/${token}`,
  ];
  for (const url of urls)
    for (const status of ['302', '400', '500']) {
      const channel = channelOf('webhook', url, { secret, headers: { 'x-status': status } });
      const outcome = JSON.stringify(await send(messageOf(), channel));
      t.notMatch(outcome, token);
      t.notMatch(outcome, secret);
      t.notMatch(outcome, '"delivered"');
    }
});

t.test('webhooks verify as Standard Webhooks', async (t) => {
  const receiver = await startUpstream(t);
  const [old, next] = [secretOf(1), secretOf(2)];
  const now = { nowMs: Date.now() };
  const signed = { headers: { 'X-Tenant': 'acme', 'Webhook-Id': 'ours goes first' } };
  await send(digestOf(), channelOf('webhook', receiver.origin, { secret: old, ...signed }), now);
  await send(messageOf(), channelOf('webhook', receiver.origin, { secret: `${next} ${old}` }), now);
  await send(messageOf(), channelOf('webhook', receiver.origin), now);
  const [first, both, none] = receiver.requests;
  const verify = (secret: string, request: typeof first) =>
    new Webhook(secret).verify(request?.body ?? '', request?.headers as Record<string, string>);
  t.match(verify(old, first), { type: 'decision.deny', data: { trace_id: traceId, digest: { count: 37 } } });
  t.match(first?.headers, { 'webhook-id': 'msg_1', 'x-tenant': 'acme' });
  t.throws(() => verify(next, first), { message: /signature/i });
  for (const secret of [old, next])
    t.match(verify(secret, both), { type: 'decision.deny' }, 'while it is changed');
  t.match(none?.headers, {
    'webhook-id': 'msg_1',
    'webhook-timestamp': /^\d+$/,
    'webhook-signature': undefined,
  });
  await send(messageOf(), channelOf('webhook', receiver.origin, { secret: old }), {
    nowMs: now.nowMs - 600_000,
  });
  t.throws(() => verify(old, receiver.requests[3]), { message: /old/ }, 'the time is that of the attempt');
});

t.test('each attempt has the same id', async (t) => {
  const receiver = await startUpstream(t, (_request, response) => {
    response.writeHead(500).end();
  });
  const channel = channelOf('webhook', receiver.origin, { secret: secretOf(3) });
  for (const later of [0, 60_000]) await send(messageOf(), channel, { nowMs: nowMs + later });
  const [first, second] = receiver.requests.map(({ headers }) => headers);
  t.equal(first?.['webhook-id'], second?.['webhook-id']);
  t.not(first?.['webhook-signature'], second?.['webhook-signature']);
});

t.test('a digest says how many it stands for, since when, and which', async (t) => {
  const receiver = await startUpstream(t);
  for (const type of overHttp) await send(digestOf(), channelOf(type, receiver.origin));
  const told = receiver.requests.slice(0, 3).map(({ body }) => body.toString().replaceAll('\\\\', ''));
  for (const text of told) {
    t.match(text, 'HIGH: 37 calls denied');
    t.match(text, '37 from 2026-11-22 20:14:30 UTC to 2026-11-22 20:15:29 UTC');
    t.match(text, /and 16 more/);
  }
  const digest = {
    count: 37,
    first_at: '2026-11-22T20:14:30.000Z',
    last_at: '2026-11-22T20:15:29.000Z',
    trace_ids: { length: 20 },
  };
  t.match(bodyOf(receiver, 3), { data: { digest } });
  t.match(bodyOf(receiver, 4), { digest });
});

t.test('Slack has buttons where what they do can be verified', async (t) => {
  const receiver = await startUpstream(t);
  const withSecret = channelOf('slack', receiver.origin, { signing_secret: 'shh' });
  const without = channelOf('slack', receiver.origin);
  const several = askingOf({ count: 2, digest: { firstMs: nowMs, lastMs: nowMs, traceIds: [] } });
  await send(askingOf(), withSecret);
  await send(askingOf(), without);
  await send(several, withSecret);
  await send(messageOf(), withSecret);
  const [asked, ...others] = receiver.requests.map((_, at) => bodyOf(receiver, at));
  t.match(asked.blocks[3], {
    type: 'actions',
    elements: [
      { type: 'button', action_id: 'postern_approve', value: `the-slack/acme/${approvalId}` },
      { type: 'button', action_id: 'postern_deny', value: `the-slack/acme/${approvalId}` },
    ],
  });
  t.notMatch(JSON.stringify(asked), 'shh');
  for (const { blocks } of others) t.notOk(blocks.some((it: { type: string }) => it.type === 'actions'));
  const hints = others.map(({ blocks }) => JSON.stringify(blocks.at(-1)));
  t.match(hints[0], `postern approval approve ${approvalId}`);
  t.match(hints[1], 'postern approval list');
  t.notMatch(hints[2], 'Decide');
});

t.test('Slack has no button where it shows a part of the URL alone', async (t) => {
  const receiver = await startUpstream(t);
  const channel = channelOf('slack', receiver.origin, { signing_secret: 'shh' });
  const asking = (lengthOfUrl: number) => {
    const url = 'https://api.test/?q='.padEnd(lengthOfUrl, 'x');
    return messageOf({
      kind: 'decision.require_approval',
      data: { approval_id: approvalId, method: 'GET', url },
    });
  };
  await send(asking(376), channel);
  await send(asking(377), channel);
  const [whole, cut] = receiver.requests.map(({ body }) => body.toString());
  t.match(whole, 'postern_approve');
  t.match(whole, 'x'.repeat(350));
  t.notMatch(cut, 'postern_approve');
  t.match(cut, `postern approval approve ${approvalId}`);
});

t.test('channels without buttons say how to decide', async (t) => {
  const receiver = await startUpstream(t);
  for (const type of ['teams', 'discord'] as const) await send(askingOf(), channelOf(type, receiver.origin));
  for (const { body } of receiver.requests)
    t.match(body.toString(), `postern approval approve ${approvalId}`);
  const [first] = receiver.requests;
  await send(
    messageOf({ kind: 'decision.require_approval', data: { approval_id: 'x; rm -rf /' } }),
    channelOf('discord', receiver.origin),
  );
  t.notMatch(JSON.stringify(bodyOf(receiver, 2).embeds[0].footer ?? ''), 'rm', 'what is no id is no command');
  t.ok(first);
});

t.test('SIEM takes OCSF Detection Findings', async (t) => {
  const receiver = await startUpstream(t);
  const channel = channelOf('siem', receiver.origin, { format: 'ocsf', secret: 'a-token' });
  await send(digestOf(), channel);
  const required = {
    activity_id: 1,
    category_uid: 2,
    class_uid: 2004,
    type_uid: 200401,
    severity_id: 4,
    time: nowMs - 1000,
    metadata: { version: '1.9.0', product: { name: 'Postern' }, profiles: ['security_control'] },
    finding_info: { uid: traceId, title: '37 calls denied' },
  };
  t.match(bodyOf(receiver), {
    ...required,
    action_id: 2,
    disposition_id: 2,
    status_id: 1,
    is_alert: true,
    count: 37,
    start_time: nowMs - 60_000,
    unmapped: { reason_codes: ['POLICY_DENY', 'RISK_HIGH'] },
  });
  t.match(receiver.requests[0]?.headers, {
    authorization: 'Bearer a-token',
    'content-type': 'application/json',
  });
  const lives: readonly [Parameters<typeof messageOf>[0], object][] = [
    [{ kind: 'decision.sanitize' }, { action_id: 1, disposition_id: 99, disposition: 'Sanitized' }],
    [
      { kind: 'decision.allow', severity: 'LOW' },
      { action_id: 1, disposition_id: 1, is_alert: false, severity_id: 2 },
    ],
    [
      { kind: 'incident.opened', data: { incident_id: 'i-1' } },
      { type_uid: 200401, finding_info: { uid: 'i-1' } },
    ],
    [
      { kind: 'incident.changed', data: { incident_id: 'i-1', status: 'investigating' } },
      { type_uid: 200402, status_id: 2 },
    ],
    [
      { kind: 'incident.changed', data: { incident_id: 'i-1', status: 'closed' } },
      { type_uid: 200403, status_id: 4, finding_info: { uid: 'i-1' } },
    ],
    [
      {
        kind: 'incident.opened',
        data: { incident_id: 'i-2', reason_codes: ['RISK_HIGH', 'TOKEN_HARVESTING'] },
      },
      { attacks: [{ technique: { uid: 'T1528', name: 'Steal Application Access Token' } }] },
    ],
    [
      { kind: 'key.revoked', tenantId: null, agentId: null, toolName: null, data: {} },
      { finding_info: { uid: 'ntc_1' }, resources: undefined, disposition_id: 17, attacks: [] },
    ],
  ];
  for (const [notice, want] of lives) {
    await send(messageOf(notice), channel);
    t.match(bodyOf(receiver, receiver.requests.length - 1), want, JSON.stringify(notice));
  }
});

t.test('SIEM takes CEF', async (t) => {
  const receiver = await startUpstream(t);
  const message = messageOf({ agentName: ownName('a|b=c\\d'), summary: ownName('one\r\ntwo=2') });
  await send(message, channelOf('siem', receiver.origin, { format: 'cef' }));
  const [request] = receiver.requests;
  t.equal(
    request?.body.toString(),
    'CEF:0|Postern|Postern|1|decision.deny|Call denied|8|' +
      `rt=${nowMs - 1000} externalId=msg_1 suid=5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11 suser=a|b\\=c\\\\d app=github act=DENY ` +
      'reason=POLICY_DENY,RISK_HIGH msg=one two\\=2 cs1Label=tenant cs1=acme cs2Label=environment cs2=production ' +
      `cs3Label=trace cs3=${traceId} cs4Label=operation cs4=delete_repo\n`,
  );
  t.match(request?.headers, { 'content-type': /^text\/plain/, authorization: undefined });
});

t.test('SIEM speaks to Splunk and Datadog in their envelopes', async (t) => {
  const receiver = await startUpstream(t);
  const own = { headers: { Authorization: 'nobody', 'X-Splunk-Request-Channel': 'c' } };
  const splunk = { preset: 'splunk_hec', secret: 's-token', ...own };
  await send(messageOf(), channelOf('siem', receiver.origin, splunk));
  await send(messageOf(), channelOf('siem', `${receiver.origin}/collector/x`, { ...splunk, format: 'cef' }));
  const datadog = { preset: 'datadog', secret: 'd-key' };
  await send(messageOf({ envName: 'pro,du:ction' }), channelOf('siem', receiver.origin, datadog));
  await send(messageOf(), channelOf('siem', receiver.origin, { ...datadog, format: 'ocsf' }));
  const [hec, raw, logs] = receiver.requests;
  t.match(hec, {
    url: '/services/collector/event',
    headers: { authorization: 'Splunk s-token', 'x-splunk-request-channel': 'c' },
  });
  t.match(bodyOf(receiver, 0), {
    time: (nowMs - 1000) / 1000,
    source: 'postern',
    sourcetype: 'postern:json',
    host: String,
    event: { type: 'decision.deny', trace_id: traceId },
  });
  t.equal(raw?.url, '/collector/x', 'a path that is given is kept');
  t.match(bodyOf(receiver, 1), { sourcetype: 'postern:cef', event: /^CEF:0\|/ });
  t.match(logs, { url: '/api/v2/logs', headers: { 'dd-api-key': 'd-key', authorization: undefined } });
  t.match(bodyOf(receiver, 2), [
    {
      ddsource: 'postern',
      service: 'postern',
      status: 'error',
      ddtags: 'env:pro_du_ction,tenant:acme,event:decision.deny',
    },
  ]);
  t.match(JSON.parse(bodyOf(receiver, 3)[0].message), { class_uid: 2004 });
});

t.test('nothing has to be known of an event', async (t) => {
  const receiver = await startUpstream(t);
  const bare = {
    tenantId: null,
    envName: null,
    agentId: null,
    agentName: null,
    toolName: null,
    summary: ownName(''),
    data: {},
  };
  for (const type of overHttp)
    for (const format of type === 'siem' ? ['json', 'ocsf', 'cef'] : [undefined])
      for (const kind of eventKinds) {
        const channel = channelOf(type, receiver.origin, format === undefined ? {} : { format });
        t.same(
          await send(messageOf({ ...bare, kind }), channel),
          { kind: 'delivered' },
          `${kind} to ${type}`,
        );
      }
});

t.test('the examples of the documentation are valid, and there is one of each type', async (t) => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/approvals-and-notifications.md'), 'utf8');
  const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  const env = Object.fromEntries(
    [...page.matchAll(/\$\{env:(\w+)\}/g)].map(([, name = '']) => [name, textOf(name)]),
  );
  const types = blocks.flatMap((text) => {
    const config = parseConfig(`tenants: [{ id: acme }]\n${text}`, { file: undefined, env });
    t.strictSame(config.warnings, []);
    return config.notifications.map(({ type }) => type);
  });
  t.strictSame([...new Set(types)].sort(), [...channelTypes].sort());
  for (const kind of eventKinds) t.ok(page.includes(kind), kind);
});

const textOf = (name: string): string =>
  name.endsWith('_HOOK') ? 'https://hooks.example/a' : name === 'WEBHOOK_SECRET' ? secretOf(1) : 'a-secret';
