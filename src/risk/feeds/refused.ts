/**
 * Why a feed is not taken as a whole. The message is a sentence for an operator. It may name a line and an
 * address range or a host, never the URL of the feed.
 */
export class FeedRefused extends Error {
  override readonly name = 'FeedRefused';
}
