import * as z from 'zod';
import { bands } from '../../core/call.ts';
import { globProblem } from '../../util/glob.ts';
import {
  dottedName,
  duration,
  flag,
  headerName,
  hour,
  identifier,
  line,
  minute,
  parsed,
  secret,
  url,
} from '../scalars.ts';
import { list, orNull, section, table } from '../section.ts';

/** The kinds of notices that a channel can get. */
export const eventKinds = [
  'decision.allow',
  'decision.deny',
  'decision.sanitize',
  'decision.require_approval',
  'approval.decided',
  'approval.expired',
  'incident.opened',
  'incident.changed',
  'key.created',
  'key.revoked',
  'usage.threshold',
  'feed.failed',
  'config.reloaded',
  'gateway.error',
] as const;

export type EventKind = (typeof eventKinds)[number];

export const channelTypes = ['slack', 'teams', 'discord', 'email', 'webhook', 'siem'] as const;

export type ChannelType = (typeof channelTypes)[number];

const groups = new Set(eventKinds.map((kind) => `${kind.split('.')[0]}.*`));
const event = parsed(
  (text) => (text === '*' || groups.has(text) || eventKinds.some((it) => it === text) ? text : undefined),
  `must be one of ${eventKinds.join(', ')}, or a group such as decision.*`,
);

const agent = parsed(
  (text) => (/^\P{Cc}{1,512}$/u.test(text) && globProblem(text) === undefined ? text : undefined),
  'must be the id of an agent, or a glob of names with * ? [abc] only',
);

/**
 * Returns the default digest time of a type of channel, in milliseconds. People are told of many events at
 * once, programs of each.
 */
export const digestMsOf = (type: ChannelType): number => (type === 'webhook' || type === 'siem' ? 0 : minute);

export const notification = section({
  name: dottedName.describe('Name of the channel.'),
  type: z.enum(channelTypes).describe('Its kind, which rules name in escalate_to.'),
  url: url(['https', 'http', 'smtp', 'smtps'], { userInfo: true }).describe(
    'Where notices go; email: smtp(s)://user:password@host:port, smtp with STARTTLS.',
  ),
  events: list(event, 64).describe('Kinds of events; empty: all.'),
  min_severity: z.enum(bands).default('LOW').describe('Less severe events are left out.'),
  tools: list(line, 1000).describe('Only events of these tools; empty: all.'),
  agents: list(agent, 1000).describe('Only events of these agents, as ids or globs of names; empty: all.'),
  environments: list(identifier, 1000).describe('Only events of these environments; empty: all.'),
  tenant: orNull(identifier).describe('Only events of this tenant; null: all.'),
  digest: orNull(duration(0, 24 * hour)).describe(
    'The first event goes at once, and those of its kind that follow within this time in one message; 0s: each by itself, as held calls always are; null: 1m, of webhook and siem 0s.',
  ),
  secret: orNull(secret).describe(
    'whsec_… that webhooks are signed with (several, with spaces between, while it is changed), or the token of a SIEM.',
  ),
  signing_secret: orNull(secret).describe(
    'Signing secret of the Slack app, which verifies what is pressed; without it there are no buttons.',
  ),
  allow_private: flag
    .prefault(false)
    .describe('Whether the URL may lead to a private address; never to this gateway or a metadata service.'),
  headers: table(headerName, secret, 32).describe('Further headers of webhook and siem.'),
  from: orNull(line).describe('Sender of email.'),
  to: list(line, 100).describe('Recipients of email.'),
  format: z.enum(['json', 'ocsf', 'cef']).default('json').describe('Format of siem.'),
  preset: z
    .enum(['splunk_hec', 'datadog'])
    .nullable()
    .default(null)
    .describe('Envelope that a SIEM expects.'),
});

const feedFormats = [
  'urlhaus',
  'openphish',
  'phishtank',
  'feodo',
  'spamhaus_drop',
  'otx',
  'lines',
  'csv',
  'json',
  'cidr',
] as const;
const feedFormat = z.enum(feedFormats);
export type ConfigFeedFormat = (typeof feedFormats)[number];

/**
 * Returns the format of a feed that names none. Feeds of a known name have their own, others are read line by
 * line.
 */
export const formatOfFeed = (name: string): ConfigFeedFormat => feedFormat.safeParse(name).data ?? 'lines';

const feedUrl = parsed((text) => {
  if (/^file:(?!\/\/)[^\0]+$/.test(text)) return text;
  const found = URL.parse(text);
  const isFile = found?.protocol === 'file:' && found.host === '';
  const isWeb = (found?.protocol === 'https:' || found?.protocol === 'http:') && found.host !== '';
  return isFile || isWeb ? text : undefined;
}, 'must be https://…, file:relative/path or file:///absolute/path');

export const feed = section({
  name: dottedName.describe(
    'Name of the feed; urlhaus, openphish, phishtank, feodo, spamhaus_drop and otx are known.',
  ),
  url: feedUrl.describe('Where it is fetched.'),
  refresh: duration(minute, 7 * 24 * 60 * minute)
    .prefault('1h')
    .describe('How often.'),
  format: orNull(feedFormat).describe('Its format; null: by name, else lines.'),
});
