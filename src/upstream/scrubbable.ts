import { GatewayError } from '../errors.ts';
import { fieldOf } from './headers.ts';

/*
 * Whether a credential can be looked for in an answer, and how, by its head.
 */

/** Formats in which each line is a message of its own. */
const linewise =
  /^(?:text\/event-stream|application\/(?:x-)?(?:ndjson|jsonl|jsonlines)|application\/json-seq|application\/stream\+json)[\t ]*(?:;|$)/i;

export const isLinewise = (head: readonly string[]): boolean => linewise.test(fieldOf(head, 'content-type'));

/** Of the whole, and of the messages of gRPC. */
const codingFields = ['content-encoding', 'grpc-encoding'];

/**
 * Why it cannot be looked for; undefined where it can, or where nothing is expected in it: in a success that `mayBeStored`. `head` is flat.
 */
export function toUnscrubbable(
  status: number,
  head: readonly string[],
  isBodiless: boolean,
  mayBeStored = false,
): GatewayError | undefined {
  if (mayBeStored && status < 300) return undefined;
  if (isPartial(status, head)) return inPart();
  const isPlain = codingFields.every((name) => /^(?:identity)?$/i.test(fieldOf(head, name)));
  return isBodiless || isPlain ? undefined : stillCoded();
}

/** Partial content (RFC 9110, 15.3.7), or what has changed (RFC 3229, 10.4.1). A field alone is enough for some clients. `head` is flat. */
export const isPartial = (status: number, head: readonly string[]): boolean =>
  status === 206 ||
  status === 226 ||
  fieldOf(head, 'content-range') !== '' ||
  /^multipart\/byteranges/i.test(fieldOf(head, 'content-type'));

/** Whoever chooses the pieces would get the credential in pieces, none of which is one. */
const inPart = (): GatewayError =>
  new GatewayError(
    'UPSTREAM_PROTOCOL',
    'The upstream sent a part of its answer though it was asked for all of it, so it cannot be looked through for the credential.',
  );

/** The upstream was asked for an answer as it is, and sent one in which nothing can be found. */
const stillCoded = (): GatewayError =>
  new GatewayError(
    'UPSTREAM_PROTOCOL',
    'The upstream compressed its answer though it was asked not to, so it cannot be looked through for the credential.',
  );
