import { GatewayError } from '../../../core/errors.ts';
import { isEnvelopedType, messageCodingFields } from '../../grpc/grpc-type.ts';
import { fieldOf, withoutField } from '../../http1/headers.ts';
import { withoutAnswerBodyFields } from './body-fields.ts';

/* Decides by the head of an answer whether and how a credential can be found in it. */

/** Matches the formats in which each line is a message of its own. */
const linewise =
  /^(?:text\/event-stream|application\/(?:x-)?(?:ndjson|jsonl|jsonlines)|application\/json-seq|application\/stream\+json)[\t ]*(?:;|$)/i;

export const isLinewise = (head: readonly string[]): boolean => linewise.test(fieldOf(head, 'content-type'));

/** The head of an answer, and how its body is looked through. */
interface Scrubbable {
  readonly status: number;
  /** Flat [name, value, …]. */
  readonly head: string[];
  /** Content coding that has to be taken off the body; '' where there is none. */
  readonly coding: string;
  /** Tells whether the body has messages in envelopes, none of which may be compressed. */
  readonly isEnveloped: boolean;
}

const isPlain = (coding: string): boolean => /^(?:identity)?$/i.test(coding);

/**
 * Returns how an answer is to be looked through, by its head, which is flat. Nothing is demanded of a success
 * that `mayBeStored`, nor of an answer without a body. Throws where the credential cannot be looked for.
 */
export function toScrubbable(
  status: number,
  head: string[],
  {
    isBodiless,
    mayBeStored = false,
  }: { readonly isBodiless: boolean; readonly mayBeStored?: boolean | undefined },
): Scrubbable {
  const coding = fieldOf(head, 'content-encoding');
  const asIs = { coding: '', isEnveloped: false };
  if (isBodiless) return { status, head: isPlain(coding) ? head : withoutAnswerBodyFields(head), ...asIs };
  if (mayBeStored && status < 300) return { status, head: withoutField(head, 'content-length'), ...asIs };
  const whole = isWholePart(status, head)
    ? { status: 200, head: withoutField(head, 'content-range') }
    : { status, head };
  if (isPartial(whole.status, whole.head)) throw inPart();
  if (!messageCodingFields.every((it) => isPlain(fieldOf(head, it)))) throw stillCoded();
  const isEnveloped = isEnvelopedType(fieldOf(head, 'content-type'));
  return isPlain(coding)
    ? { ...whole, head: withoutField(whole.head, 'content-length'), coding: '', isEnveloped }
    : { ...whole, head: withoutAnswerBodyFields(whole.head), coding, isEnveloped };
}

/** Tells whether a part is all there is (RFC 9110, 14.4). Some servers answer so whoever asks. */
function isWholePart(status: number, head: readonly string[]): boolean {
  const [, from, to, length] =
    /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/i.exec(fieldOf(head, 'content-range')) ?? [];
  return status === 206 && from === '0' && Number(to) + 1 === Number(length);
}

/**
 * Tells whether an answer is partial content (RFC 9110, 15.3.7) or a delta (RFC 3229, 10.4.1). Some clients
 * go by one field.
 */
export const isPartial = (status: number, head: readonly string[]): boolean =>
  status === 206 ||
  status === 226 ||
  fieldOf(head, 'content-range') !== '' ||
  /^multipart\/byteranges/i.test(fieldOf(head, 'content-type'));

/**
 * Returns the error for a part of an answer. Whoever chooses the pieces would get the credential in pieces,
 * none of which is one. To cut what may be one at the edges would tell how much of a guess is right.
 */
const inPart = (): GatewayError =>
  new GatewayError(
    'UPSTREAM_PROTOCOL',
    'The upstream sent a part of its answer though it was asked for all of it, so it cannot be looked through for the credential.',
  );

/**
 * Returns the error for an answer in which nothing can be found, although the upstream was asked for it as it
 * is.
 */
export const stillCoded = (): GatewayError =>
  new GatewayError(
    'UPSTREAM_PROTOCOL',
    'The upstream compressed its answer in a way that is not known here though it was asked not to, so it cannot be looked through for the credential.',
  );

export const notDecodable = (error: Error): GatewayError =>
  new GatewayError(
    'UPSTREAM_PROTOCOL',
    'The answer of the upstream is not what its content coding says.',
    {},
    error,
  );

export const tooFarExpanded = (): GatewayError =>
  new GatewayError(
    'UPSTREAM_PROTOCOL',
    'The upstream compressed its answer though it was asked not to, and it expands too far.',
  );
