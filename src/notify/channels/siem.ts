import { hostname } from 'node:os';
import type { NotificationConfig } from '../../config/schema.ts';
import type { Channel } from '../channel.ts';
import type { Message } from '../notice.ts';
import { postTo } from '../outcome.ts';
import { toData } from '../payload.ts';
import { toCef } from '../siem/cef.ts';
import { toOcsf } from '../siem/ocsf.ts';

/* Sends to systems that collect events: in three formats, and in envelopes that two of the systems want. */

type Format = NotificationConfig['format'];
type Post = {
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

const toJson = (message: Message): Record<string, unknown> => ({
  id: message.messageId,
  type: message.notice.kind,
  timestamp: new Date(message.notice.atMs).toISOString(),
  ...toData(message),
});

const formats: Readonly<Record<Format, (message: Message) => Record<string, unknown> | string>> = {
  json: toJson,
  ocsf: toOcsf,
  cef: toCef,
};

/** Returns the URL of the collector, with this path where it has none of its own. */
function atPath(text: string, path: string): string {
  const url = new URL(text);
  return url.pathname === '/' ? new URL(`${path}${url.search}`, url).href : text;
}

type Envelope = (
  event: Record<string, unknown> | string,
  message: Message,
  channel: NotificationConfig,
) => Post;

const plainly: Envelope = (event, _message, { secret }) => ({
  headers: {
    'Content-Type': typeof event === 'string' ? 'text/plain; charset=utf-8' : 'application/json',
    ...(secret === null ? {} : { Authorization: `Bearer ${secret}` }),
  },
  body: typeof event === 'string' ? `${event}\n` : JSON.stringify(event),
});

/** Wraps an event for Splunk's HTTP Event Collector. */
const splunk: Envelope = (event, { notice }, { url, secret, format }) => ({
  url: atPath(url, '/services/collector/event'),
  headers: { 'Content-Type': 'application/json', Authorization: `Splunk ${secret ?? ''}` },
  body: JSON.stringify({
    time: notice.atMs / 1000,
    host: hostname(),
    source: 'postern',
    sourcetype: `postern:${format}`,
    event,
  }),
});

const datadogStatus = { LOW: 'info', MEDIUM: 'warn', HIGH: 'error', CRITICAL: 'critical' } as const;

/** Returns a tag, or none without a value. Signs that tags cannot have, such as a comma, become `_`. */
const tag = (name: string, value: string | null): string[] =>
  value === null ? [] : [`${name}:${value.toLowerCase().replace(/[^a-z0-9_./-]/g, '_')}`];

/** Wraps an event for version 2 of Datadog's intake of logs. */
const datadog: Envelope = (event, { notice }, { url, secret }) => ({
  url: atPath(url, '/api/v2/logs'),
  headers: { 'Content-Type': 'application/json', 'DD-API-KEY': secret ?? '' },
  body: JSON.stringify([
    {
      ddsource: 'postern',
      ddtags: [
        ...tag('env', notice.envName),
        ...tag('tenant', notice.tenantId),
        ...tag('event', notice.kind),
      ].join(','),
      hostname: hostname(),
      service: 'postern',
      status: datadogStatus[notice.severity],
      message: typeof event === 'string' ? event : JSON.stringify(event),
    },
  ]),
});

const presets: Readonly<Record<NonNullable<NotificationConfig['preset']>, Envelope>> = {
  splunk_hec: splunk,
  datadog,
};

export const siem: Channel = {
  type: 'siem',
  send: (message, channel, context) =>
    postTo(channel, context, () => {
      const envelop = channel.preset === null ? plainly : presets[channel.preset];
      const post = envelop(formats[channel.format](message), message, channel);
      return { ...post, headers: { ...Object.fromEntries(channel.headers), ...post.headers } };
    }),
};
