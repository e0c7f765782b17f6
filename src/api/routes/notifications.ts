import { z } from 'zod';
import { channelTypes } from '../../config/sections/notifications.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Gate } from '../../decision/gate.ts';
import type { ChannelHealth } from '../../notify/notifications.ts';
import type { DeadMessage, Page } from '../../state/store.ts';
import {
  idOf,
  missing,
  ofTenant,
  pageOf,
  pageQuery,
  tenantId as tenantField,
  time,
  toIso,
  toIsoOrNull,
  toListAnswer,
  toPage,
} from '../fields/fields.ts';
import { shown } from '../fields/shown.ts';
import { type ApiRequest, routesOf } from '../route.ts';

/* Shows, tests and retries notification channels. Their URLs and secrets are never answered. */

const route = routesOf('notifications');
const channelName = z.string().min(1).max(64);
const ofTenantQuery = { tenant_id: tenantField.optional() };

const channel = z
  .object({
    name: z.string(),
    type: z.enum(channelTypes),
    tenant_id: z.string().nullable().describe('null: of the daemon, told of all tenants.'),
    circuit: z
      .enum(['closed', 'open', 'half_open'])
      .describe(
        'open: it has failed again and again, and is left alone for a while; half_open: one message tries it out.',
      ),
    waiting: z.int(),
    failed: z.int().describe('Messages that were given up.'),
    delivered: z.int(),
    dropped: z.int().describe('Events for which there was no room.'),
    failures: z.int().describe('In a row.'),
    last_delivered: time.nullable(),
    last_failed: time.nullable(),
    last_error: z.string().nullable(),
    paused_until: time.nullable(),
  })
  .meta({ id: 'NotificationChannel' });

const toChannel = ({ config, queue, circuit }: ChannelHealth, nowMs: number): z.infer<typeof channel> =>
  shown(
    channel,
    { ...noQueue, ...queue, ...config },
    {
      circuit,
      failed: queue?.dead ?? 0,
      last_delivered: toIsoOrNull(queue?.lastDeliveredMs ?? null),
      last_failed: toIsoOrNull(queue?.lastFailedMs ?? null),
      paused_until: queue && queue.pausedUntilMs > nowMs ? toIso(queue.pausedUntilMs) : null,
    },
  );

/** The counts of a channel that has no queue yet. */
const noQueue = { waiting: 0, delivered: 0, dropped: 0, failures: 0, lastError: null };

const failed = z
  .object({
    id: z.uuid(),
    channel: z.string(),
    tenant_id: z.string().nullable().describe('Of the channel.'),
    message_id: z.string().describe('By which its receiver knows it.'),
    type: z.string(),
    summary: z.string(),
    count: z.int().describe('Events that it stands for.'),
    trace_ids: z.array(z.string()),
    attempts: z.int(),
    queued_at: time,
    failed_at: time,
    reason: z.string(),
  })
  .meta({ id: 'FailedNotification' });

const toFailed = (it: DeadMessage): z.infer<typeof failed> =>
  shown(failed, it, {
    tenant_id: it.owner,
    message_id: it.noticeId,
    type: it.kind,
    summary: summaryOf(it),
    failed_at: toIso(it.deadAtMs),
  });

function summaryOf({ body }: DeadMessage): string {
  const { summary }: { readonly summary?: unknown } = JSON.parse(body);
  return typeof summary === 'string' ? summary : '';
}

type Asking = Pick<ApiRequest<unknown, unknown>, 'caller' | 'tenantId' | 'namedTenant'>;

/** Returns whose channels are meant; undefined for all, which only the admin secret sees. */
const ownerOf = ({ caller, tenantId, namedTenant }: Asking): string | undefined =>
  caller.kind === 'admin' && namedTenant === undefined ? undefined : tenantId();

/** Returns a channel by its name. Throws NOT_FOUND where there is none that the caller may see. */
function findChannel({ notifications }: Gate, name: string, owner: string | undefined) {
  const found = notifications.find(name);
  if (!found || (owner !== undefined && found.tenantId !== owner)) throw missing('channel');
  return found;
}

/** `GET /v1/notifications` shows a key its tenant's channels; the daemon's are for the admin secret. */
export const listChannels = route('GET /v1/notifications', {
  summary: 'List the channels and how they do',
  access: 'activity:read',
  query: z.object(ofTenantQuery),
  answer: z.object({ items: z.array(channel) }).meta({ id: 'NotificationChannelList' }),
  async handle({ gate, nowMs, ...asking }) {
    const owner = ownerOf(asking);
    const all = await gate.notifications.channels();
    const own = all.filter(({ config }) => owner === undefined || config.tenantId === owner);
    return { items: own.map((it) => toChannel(it, nowMs)) };
  },
});

/** `GET /v1/notifications/failed` lists messages that were given up, newest first, 1,000 of each channel. */
export const listFailed = route('GET /v1/notifications/failed', {
  summary: 'List what could not be delivered',
  access: 'activity:read',
  query: z.object({ ...pageQuery, ...ofTenantQuery, channel: channelName.optional() }),
  answer: pageOf(failed),
  perKeyMax: 4,
  async handle({ gate, query, ...asking }) {
    const owner = ownerOf(asking);
    const filter = {
      ...(owner === undefined ? {} : { owner }),
      ...(query.channel === undefined ? {} : { channel: query.channel }),
    };
    return toListAnswer(await gate.store.listDeadMessages(filter, toPage(query)), toFailed);
  },
});

const replayed = z.object({ replayed: z.int() }).meta({ id: 'ReplayedNotifications' });

/** `POST /v1/notifications/failed/{id}/replay` queues a failed message again, for another day of attempts. */
export const replayFailed = route('POST /v1/notifications/failed/:id/replay', {
  summary: 'Try again to deliver one that failed',
  access: 'admin',
  body: z.object(ofTenant),
  isBodyOptional: true,
  query: z.object(ofTenantQuery),
  answer: replayed,
  async handle({ gate, params, nowMs, ...asking }) {
    const id = idOf(params, 'id', 'failed notification');
    const owner = ownerOf(asking);
    const message = await gate.store.deadMessageById(id);
    if (!message || (owner !== undefined && message.owner !== owner)) throw missing('failed notification');
    if (!gate.notifications.find(message.channel))
      throw new GatewayError('CONFLICT', 'Its channel is not in the configuration any more.');
    const count = await gate.store.replayMessages(message.channel, [id], nowMs);
    gate.notifications.wake();
    return { replayed: count };
  },
});

/** `POST /v1/notifications/replay` queues again all that a channel has failed to deliver. */
export const replayChannel = route('POST /v1/notifications/replay', {
  summary: 'Try again to deliver all that failed of a channel',
  access: 'admin',
  body: z.object({ ...ofTenant, name: channelName }),
  query: z.object(ofTenantQuery),
  answer: replayed,
  async handle({ gate, body, nowMs, ...asking }) {
    const owner = ownerOf(asking);
    const { name } = findChannel(gate, body.name, owner);
    // The channel may have belonged to another tenant, whose messages must stay out.
    const filter = { channel: name, ...(owner === undefined ? {} : { owner }) };
    let count = 0;
    // A message that fails again meanwhile stands before the place where this loop goes on.
    let page: Page = { limit: 500, cursor: undefined };
    for (let pages = 0; pages < pagesMax; pages += 1) {
      const { items, nextCursor } = await gate.store.listDeadMessages(filter, page);
      const ids = items.map((it) => it.id);
      count += await gate.store.replayMessages(name, ids, nowMs);
      if (nextCursor === null) break;
      page = { ...page, cursor: nextCursor };
    }
    gate.notifications.wake();
    return { replayed: count };
  },
});

/** Pages that are replayed at most. Together they hold more messages than a channel keeps. */
const pagesMax = 10;

/** `POST /v1/notifications/test` sends one message past filters and queue, and says what came of it. */
export const testChannel = route('POST /v1/notifications/test', {
  summary: 'Send a test to a channel',
  access: 'admin',
  perKeyMax: 2,
  body: z.object({ ...ofTenant, name: channelName }),
  query: z.object(ofTenantQuery),
  answer: z
    .object({ name: z.string(), delivered: z.boolean(), reason: z.string().nullable() })
    .meta({ id: 'NotificationTest' }),
  async handle({ gate, body, ...asking }) {
    const { name } = findChannel(gate, body.name, ownerOf(asking));
    const outcome = await gate.notifications.test(name);
    if (!outcome) throw missing('channel');
    const isDelivered = outcome.kind === 'delivered';
    return { name, delivered: isDelivered, reason: outcome.kind === 'delivered' ? null : outcome.reason };
  },
});
