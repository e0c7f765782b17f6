import { z } from 'zod';
import type { FeedHealth } from '../../risk/feeds/feed.ts';
import { missing, time, toIsoOrNull } from '../fields/fields.ts';
import { shown } from '../fields/shown.ts';
import { routesOf } from '../route.ts';

/* Shows how the threat feeds are. What they list is not shown; it is asked call by call. */

const route = routesOf('feeds');

const feed = z
  .object({
    name: z.string(),
    origin: z.string().describe('Scheme, host and port of where it comes from, or file:.'),
    status: z.enum(['ok', 'stale', 'failed', 'never']),
    indicators: z.int().describe('In use.'),
    dropped: z.int().describe('Left out because they would block what nobody wants blocked.'),
    age_seconds: z.int().nullable(),
    last_success: time.nullable(),
    last_error: z.string().nullable(),
    next_fetch: time,
  })
  .meta({ id: 'Feed' });

const toShown = (health: FeedHealth) =>
  shown(feed, health, {
    age_seconds: health.ageMs === undefined ? null : Math.round(health.ageMs / 1000),
    last_success: toIsoOrNull(health.lastSuccessMs ?? null),
    last_error: health.lastError || null,
  });

/** `GET /v1/feeds` lists all feeds of the configuration. */
export const listFeeds = route('GET /v1/feeds', {
  summary: 'List the threat feeds and how they are',
  access: 'key',
  answer: z.object({ items: z.array(feed) }).meta({ id: 'FeedList' }),
  handle: ({ gate }) => ({ items: gate.feeds.health().map(toShown) }),
});

/** `POST /v1/feeds/{name}/refresh` fetches a feed now, and answers how it is then. */
export const refreshFeed = route('POST /v1/feeds/:name/refresh', {
  summary: 'Fetch a threat feed now',
  access: 'admin',
  answer: feed,
  async handle({ gate, params }) {
    const health = await gate.feeds.refresh(params['name'] ?? '');
    if (!health) throw missing('feed');
    return toShown(health);
  },
});
