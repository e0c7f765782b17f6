import type http from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import type { NotificationConfig } from '../../src/config/schema.ts';
import { toBrief } from '../../src/notify/brief.ts';
import { toDiscord } from '../../src/notify/channels/discord.ts';
import { toHtml, toMailText } from '../../src/notify/channels/email.ts';
import { toSlack } from '../../src/notify/channels/slack.ts';
import { toTeams } from '../../src/notify/channels/teams.ts';
import type { Message } from '../../src/notify/notice.ts';
import { toData } from '../../src/notify/payload.ts';
import { toCef } from '../../src/notify/siem/cef.ts';
import { toOcsf } from '../../src/notify/siem/ocsf.ts';
import { startUpstream } from '../support/upstream.ts';
import { approvalId, channelOf, messageOf, nowMs, send } from './lab.ts';

/*
 * Names of agents and tools, summaries and data are what strangers have chosen. Whatever that is, no channel makes markup of it, nothing
 * stands outside of its place, and nothing becomes longer than the channel takes.
 */

const snippets = [
  '<!channel>',
  '<!here|x>',
  '<@U0123456>',
  '<https://evil.example|Approve>',
  '@everyone',
  '@here',
  '[Approve](https://evil.example)',
  'https://evil.example/x',
  '**bold** _it_ ~no~ `code` ```more``` ||spoiler||',
  '# heading\n> quote\n- item',
  '{{DATE(2026-11-22T20:15:30Z)}}{{{',
  '<img src=x onerror=alert(1)>',
  '</td></table><script>',
  '"\'&amp;&lt;',
  '\r\nBcc: evil@evil.example\r\n\r\nbody',
  'a|b=c\\ msg=forged',
  ':smile:',
  '\u202egnp.exe',
  '\u2028\u2029\u0085\u200b\ufeff',
  '\ud800',
  '😀',
];

const text = fc
  .array(fc.oneof(fc.constantFrom(...snippets), fc.string({ unit: 'binary', maxLength: 40 })), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''));

const hostile: fc.Arbitrary<Message> = fc
  .record({
    agentName: fc.option(text),
    toolName: fc.option(text),
    envName: fc.option(text),
    summary: text,
    data: fc.record({
      trace_id: text,
      operation: text,
      decided_by: text,
      url: text,
      method: text,
      reason_codes: fc.array(text, { maxLength: 5 }),
      approval_id: fc.oneof(text, fc.constant(approvalId)),
    }),
    kind: fc.constantFrom('decision.deny', 'decision.require_approval', 'approval.decided'),
    count: fc.constantFrom(1, 1000),
    traceIds: fc.array(text, { maxLength: 20 }),
  })
  .map(({ count, traceIds, ...notice }) => {
    const digest = { firstMs: nowMs - 1000, lastMs: nowMs, traceIds };
    return messageOf(notice as unknown as Partial<Message['notice']>, count > 1 ? { count, digest } : {});
  });

const check = (name: string, isSafe: (message: Message) => void): void => {
  fc.assert(fc.property(hostile, isSafe), { numRuns: 400 });
  t.pass(name);
};

/** Throws with what was found where it should not be. */
function must(condition: boolean, what: unknown): asserts condition {
  if (!condition) throw new Error(`found ${JSON.stringify(what)}`);
}

type Json = Record<string, unknown>;

/** All objects inside. */
function objectsIn(value: unknown): Json[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  if (typeof value !== 'object' || value === null) return [];
  return [value as Json, ...Object.values(value).flatMap(objectsIn)];
}

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

check('Slack', (message) => {
  const button = { channel: 'c', tenantId: 'acme', approvalId };
  const sent = toSlack(toBrief(message), button, 'http://127.0.0.1:8081') as Json;
  must(/^HIGH: [\w ]+$/.test(String(sent['text'])), sent['text']);
  for (const it of objectsIn(sent)) {
    const said = String(it['text']);
    if (it['type'] !== 'plain_text' && it['type'] !== 'mrkdwn') continue;
    must(said !== '' && said.length <= 2000, said.length);
    must(!/[<>]|&(?!amp;|lt;|gt;)/.test(said), said);
    must(!unseen.test(said.replace('\n', '')), said);
    if (it['type'] === 'plain_text') must(it['emoji'] === false, it);
    else {
      must(it['verbatim'] === true, it);
      must(/^(?:\*[A-Z][a-z ]+\*\n|Postern at |Decide: )`[^`\n]*`$/.test(said), said);
    }
  }
  const blocks = sent['blocks'] as Json[];
  for (const { fields = [] } of blocks) must((fields as unknown[]).length <= 10, fields);
});

check('Discord', (message) => {
  const sent = toDiscord(toBrief(message), nowMs) as Json;
  must(JSON.stringify(sent['allowed_mentions']) === '{"parse":[]}', sent);
  const [embed] = sent['embeds'] as [Json];
  const fields = embed['fields'] as { name: string; value: string }[];
  const description = String(embed['description']);
  must(description.length <= 4096 && fields.length <= 25, fields.length);
  for (const said of [description, ...fields.map(({ value }) => value)]) {
    must(said.length <= 1024, said.length);
    must(!/[!-/:-@[-`{-~]/.test(said.replace(/\\[!-/:-@[-`{-~]/g, '')), said);
    must(!unseen.test(said), said);
  }
  for (const { value, name } of fields) must(value !== '' && /^[A-Z][a-z ]+$/.test(name), name);
  const whole = [embed['title'], description, ...fields.flatMap(({ name, value }) => [name, value])].join('');
  must(whole.length + JSON.stringify(embed['footer'] ?? '').length <= 6000, whole.length);
});

check('Teams', (message) => {
  const sent = toTeams(toBrief(message));
  must(JSON.stringify(sent).length <= 28_000, 'its length');
  for (const it of objectsIn(sent)) {
    const said = String(it['text'] ?? '');
    must(!said.includes('{{') && !unseen.test(said), said);
    if (it['type'] === 'TextBlock') must(/^HIGH: [\w ]+$/.test(said), said);
    else must(it['text'] === undefined || it['type'] === 'TextRun', it);
    if (it['type'] === 'TextRun') must(it['selectAction'] === undefined, it);
  }
});

const tags =
  /^<(?:!doctype html|\/?(?:html|table|tr|td|h2|p|code|body)|body style="[\w:-]+"|td style="[\w :;#-]+"|p style="[\w:#]+")>$/;

check('mail', (message) => {
  const brief = toBrief(message);
  const html = toHtml(brief, 'http://127.0.0.1:8081');
  for (const tag of html.match(/<[^>]*>?/g) ?? []) must(tags.test(tag), tag);
  must(!/&(?!#\d+;)/.test(html), html);
  const lines = toMailText(brief).split('\n');
  must(lines.length <= 25 && lines.every((it) => !unseen.test(it)), lines);
});

/** What a reader of CEF makes of a line, by its rules and not by ours. */
function readCef(line: string): { head: string[]; fields: Map<string, string> } {
  const parts = /^((?:(?:[^|\\]|\\.)*\|){7})(.*)$/s.exec(line);
  must(parts !== null, line);
  const head = (parts[1] ?? '').split(/(?<!\\)\|/);
  const fields = new Map<string, string>();
  for (const [, key = '', value = ''] of (parts[2] ?? '').matchAll(/(\w+)=((?:[^=\\]|\\.)*?)(?= \w+=|$)/gs))
    fields.set(key, value.replace(/\\(.)/g, '$1'));
  return { head, fields };
}

check('CEF', (message) => {
  const line = toCef(message);
  must(!/[\r\n]/.test(line), line);
  const { head, fields } = readCef(line);
  must(head.slice(0, 4).join('|') === 'CEF:0|Postern|Postern|1' && head[4] === message.notice.kind, head);
  must(head[6] === '8', head);
  must(fields.get('externalId') === 'msg_1', line);
  must(fields.get('msg') === (toBrief(message).summary || undefined), [fields.get('msg'), line]);
  must(fields.get('cs1') === 'acme', line);
});

check('OCSF', (message) => {
  const event = JSON.parse(JSON.stringify(toOcsf(message)));
  must(event.class_uid === 2004 && event.severity_id === 4, event);
  must(typeof event.finding_info.uid === 'string' && event.finding_info.uid !== '', event.finding_info);
  must(!unseen.test(event.message), event.message);
});

t.test('what programs read, they read as it was', async (t) => {
  const bodies: { body: string; headers: http.IncomingHttpHeaders }[] = [];
  const receiver = await startUpstream(
    t,
    (request, response, body) => {
      bodies.push({ body: body.toString(), headers: request.headers });
      response.end();
    },
    { tls: false },
  );
  const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  const token = { secret: 'token' };
  const now = Date.now();
  const kinds: readonly [NotificationConfig, (sent: string, headers: http.IncomingHttpHeaders) => unknown][] =
    [
      [
        channelOf('webhook', receiver.origin, { secret }),
        (sent, headers) =>
          (new Webhook(secret).verify(sent, headers as Record<string, string>) as Json)['data'],
      ],
      [channelOf('siem', receiver.origin), (sent) => JSON.parse(sent)],
      [channelOf('siem', receiver.origin, { format: 'ocsf' }), (sent) => JSON.parse(sent).unmapped],
      [
        channelOf('siem', receiver.origin, { preset: 'splunk_hec', ...token }),
        (sent) => JSON.parse(sent).event,
      ],
      [
        channelOf('siem', receiver.origin, { preset: 'datadog', ...token }),
        (sent) => {
          const [{ message, ddtags }] = JSON.parse(sent);
          must(/^(?:env:[a-z0-9_./-]*,)?tenant:acme,event:[a-z_.]+$/.test(ddtags), ddtags);
          return JSON.parse(message);
        },
      ],
    ];
  for (const [channel, dataOf] of kinds) {
    await fc.assert(
      fc.asyncProperty(hostile, async (message) => {
        const outcome = await send(message, channel, { nowMs: now });
        must(outcome.kind === 'delivered', outcome);
        const { body, headers } = bodies.at(-1) ?? { body: '', headers: {} };
        const found = dataOf(body, headers) as Json;
        for (const [name, value] of Object.entries(toData(message)))
          if (name !== 'digest') must(isDeepStrictEqual(found[name], value), [name, found[name], value]);
      }),
      { numRuns: 40 },
    );
    t.pass(`${channel.type} ${channel.preset ?? channel.format}`);
  }
});
