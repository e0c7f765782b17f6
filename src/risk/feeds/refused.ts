/**
 * Tells why a whole feed is not taken. The message is a sentence for an operator. It may name a line and an
 * address range or a host, but never the URL of the feed.
 */
export class FeedRefused extends Error {
  override readonly name = 'FeedRefused';
}
