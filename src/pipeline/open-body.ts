import { inflateBody } from '../text/inflate.ts';
import type { ReadingTools } from './read-body.ts';
import type { ReadBounds } from './read-part.ts';

export interface OpenJob {
  readonly body: Buffer;
  readonly contentEncoding: string;
}

/** Takes the content coding off a body: a few bytes may become many. */
export const openBody = (
  { body, contentEncoding }: OpenJob,
  _: ReadingTools,
  { maxDecodedBytes }: ReadBounds,
): ReturnType<typeof inflateBody> => inflateBody(body, contentEncoding, maxDecodedBytes);
