import type { BodyValue, Call } from '../call.ts';
import type { Request } from '../catalogue/catalogue.ts';
import { kept } from '../kept.ts';
import { bodyValue, hidesNames, plainBody } from './body.ts';
import { readBody, structuredBytesMax } from './body-structure.ts';

const structureOf = (contentType: string, body: string): BodyValue =>
  readBody(contentType, Buffer.from(body));

/** The call as the catalogue wants it. `maxDecodedBytes` bounds what is decoded of its body when that is asked for. */
export const toRequest = (call: Call, maxDecodedBytes: number): Request => ({
  method: call.method,
  target: call.target,
  headers: call.headers,
  contentType: call.contentType,
  bodyText: () => plainBody(call, maxDecodedBytes).toString('utf8', 0, structuredBytesMax),
  mentions: (text) => mentions(call, text, maxDecodedBytes),
  isInOtherCharset: () => hidesNames(call, maxDecodedBytes),
  bodyValue: () => bodyValue(call, maxDecodedBytes),
  structureOf,
});

/** A body is gone through for each text once, whoever asks. */
function mentions(call: Call, text: string, maxDecodedBytes: number): boolean {
  call.mentioned ??= new Map();
  // Node looks for latin1 as it is; to encode the text first costs as much as the search through a short body.
  return kept(call.mentioned, text, () => plainBody(call, maxDecodedBytes).includes(text, 0, 'latin1'));
}
