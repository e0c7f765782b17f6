import type { InboundRoute } from '../config/schema.ts';
import type { DecidedCall } from '../core/call.ts';
import { toGatewayError } from '../core/errors.ts';
import type { AnswerGate } from '../decision/gate.ts';
import { isBinary } from '../inspect/decode/packed/binary.ts';
import { compressionOf, isZip } from '../inspect/decode/packed/compression.ts';
import { isOfficeFile } from '../inspect/decode/packed/office-text.ts';
import { opaqueKindOf } from '../inspect/decode/packed/opaque.ts';
import { isLinewise, isPartial } from '../wire/client/scrub/scrubbable.ts';
import { isGrpcType, messageCodingFields } from '../wire/grpc/grpc-type.ts';
import type { Answer } from '../wire/http1/answer.ts';
import { fieldOf } from '../wire/http1/headers.ts';
import { ownerOf } from '../wire/server/connections.ts';
import { refusalHeaders } from '../wire/server/decision-headers.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { answerProblem } from '../wire/server/problem.ts';
import type { Piece } from './content.ts';
import { eventFraming } from './events.ts';
import { grpcFraming } from './grpc.ts';
import { type FieldsPlace, type PieceFacts, ResponseInspector } from './inspector.ts';
import { AnswerRoom } from './room.ts';
import {
  blocked,
  isLongerThan,
  type ResponseRules,
  redactedHead,
  responseRules,
  sanitized,
  toolNameOf,
  unreadable,
} from './rules.ts';
import { InspectedStream, isDecodable } from './stream.ts';
import type {
  FieldsJudgement,
  Handling,
  Refused,
  Tap,
  TappedBytes,
  TappedJudgement,
  TrailersJudgement,
} from './tap.ts';
import { TappedAnswer } from './tapped-answer.ts';
import { ToolListScan } from './tool-list-scan.ts';

const megabyte = 1024 * 1024;
/** The room for all answers that one process is reading. */
const room = new AnswerRoom(64 * megabyte, 16 * megabyte);

/** Matches formats without text, by the name that servers give them. The bytes decide what is read. */
const opaqueTypes =
  /^(?:image\/(?!svg)|audio\/|video\/|font\/|binary\/octet-stream|application\/(?:octet-stream|zip|gzip|x-gzip|x-tar|zstd|pdf|java-archive|vnd\.))/i;
/** Matches formats of text, by their suffix (RFC 6839). */
const textSuffix = /\+(?:json|xml)\b/i;
/** Matches office files that are archives; they are unpacked and read. */
const officeTypes = /^application\/vnd\.(?:openxmlformats-officedocument|oasis\.opendocument|ms-\w+\.)/i;
/**
 * Bytes of the sample of the first chunk, at least and at most. Shorter content is read whatever its type
 * says.
 */
const sampleBytesMin = 64;
const sampleBytesMax = 512;

/**
 * Tells whether content begins as a file of a known format does. It looks at the first bytes and at those
 * that follow, since a text may stand behind the first bytes of a picture.
 */
function beginsOpaque(chunk: Buffer): boolean {
  const isKnown = opaqueKindOf(chunk) !== undefined || compressionOf(chunk) !== undefined;
  return isKnown && chunk.length >= sampleBytesMin && isBinary(chunk.subarray(0, sampleBytesMax));
}

/** Tells whether a message of an answer may come long after the one before it. */
const isStream = (fields: readonly string[]): boolean =>
  isLinewise(fields) ||
  /^(?:application\/grpc|multipart\/x-mixed-replace)/i.test(fieldOf(fields, 'content-type'));

/** Tells whether an answer is made of events that can be read one by one: lines, or messages of gRPC. */
const hasEvents = (fields: readonly string[]): boolean =>
  isLinewise(fields) || isGrpcType(fieldOf(fields, 'content-type'));

/**
 * Returns the writer for the answer to a call. The answer goes to the agent as it is, unless `response_scan`
 * of the tenant, the tool or the route asks for the inspector.
 */
export function answerFor(
  gate: AnswerGate,
  call: DecidedCall,
  exchange: Exchange,
  route: InboundRoute | undefined,
): Answer {
  const rules = responseRules(gate, call, route);
  if (!rules?.isRead) return exchange.answer;
  const inspector = new ResponseInspector(() => gate, call, route);
  return new TappedAnswer(exchange.answer, new InspectedAnswer(inspector, rules, call, exchange));
}

/** Decides what happens to a call's answer: with its head, its body whole or in events, its trailers. */
class InspectedAnswer implements Tap {
  readonly bytesMax: number;
  readonly endsBeyond: boolean;
  events: InspectedStream | undefined;
  readonly #inspector: ResponseInspector;
  readonly #rules: ResponseRules;
  readonly #call: DecidedCall;
  readonly #exchange: Exchange;
  readonly #toolLists: ToolListScan;
  #isHeld = false;
  #content: AnswerContent = {
    contentType: '',
    contentEncoding: '',
  };

  constructor(inspector: ResponseInspector, rules: ResponseRules, call: DecidedCall, exchange: Exchange) {
    this.#inspector = inspector;
    this.#rules = rules;
    this.#call = call;
    this.#exchange = exchange;
    const { maxBytes, beyond } = rules.scan;
    this.bytesMax = maxBytes;
    this.endsBeyond = beyond === 'end';
    this.#toolLists = new ToolListScan(rules.gate, call, {
      bytesMax: maxBytes,
      maxDecodedBytes: rules.tenant.maxDecodedBytes,
      keep: (bytes) => this.keep(bytes),
      note: (facts) => inspector.note(facts),
    });
  }

  admitHead(status: number, fields: readonly string[]): FieldsJudgement {
    const judgement = this.#admitFields({ part: 'head', status }, fields);
    if ('refusal' in judgement || judgement.reasons.length === 0) return judgement;
    return { fields: this.redactedFields(judgement.fields, judgement.reasons) };
  }

  admitTrailers(status: number, trailers: readonly [string, string][]): TrailersJudgement {
    const judgement = this.#admitFields({ part: 'trailers', status }, trailers.flat());
    if ('refusal' in judgement) return judgement;
    const { fields, reasons } = judgement;
    const pairs: [string, string][] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) pairs.push([fields[i] as string, fields[i + 1] as string]);
    return { trailers: pairs, reasons };
  }

  #admitFields(
    place: FieldsPlace,
    fields: readonly string[],
  ): Refused | { fields: string[]; reasons: readonly string[] } {
    const refuse = (refusal: unknown, why: readonly string[]): Refused => {
      this.events?.refuseEnd(why);
      return { refusal };
    };
    try {
      const { reasons, cuts, fields: admitted } = this.#inspector.admitFields(place, fields, this.#rules);
      if (reasons.length > 0) return refuse(blocked(reasons), reasons);
      return { fields: admitted as string[], reasons: sanitized(cuts) };
    } catch (error) {
      logUnread(this.#rules, this.#call, error, 'the head of an answer could not be read');
      return refuse(error, unreadable);
    }
  }

  handling(status: number, fields: readonly string[], chunk: Buffer | undefined): Handling {
    const { isEnforced } = this.#rules;
    const isBodiless = status === 204 || status === 304 || this.#call.method === 'HEAD';
    const mayPassUnread = this.bytesMax === 0 && !(isEnforced && this.endsBeyond);
    if (isBodiless || mayPassUnread) return 'pass';
    const contentType = fieldOf(fields, 'content-type');
    const contentEncoding = fieldOf(fields, 'content-encoding');
    const messageCodings = messageCodingFields.map((it) => fieldOf(fields, it));
    const isFixed = isPartial(status, fields);
    this.#content = { contentType, contentEncoding, messageCodings, isFixed, isAlone: true };
    const isEvents = isEnforced && hasEvents(fields) && isDecodable(contentEncoding);
    const head = { status, contentType, contentEncoding: isEvents ? '' : contentEncoding };
    if (!chunk) this.#toolLists.begin(head, this.#exchange);
    if (chunk && passesUnread(this.#content, chunk)) return 'pass';
    if (!isEnforced) return 'read';
    if (isEvents) {
      this.events = this.#openEvents(fieldOf(fields, 'grpc-encoding'), isFixed);
      return 'events';
    }
    // A stream that cannot be taken apart is held, unless unread content may come in.
    this.#isHeld = this.endsBeyond || !isStream(fields) || hasEvents(fields);
    return this.#isHeld ? 'hold' : 'read';
  }

  #openEvents(grpcEncoding: string, isFixed: boolean): InspectedStream {
    const { contentType, contentEncoding } = this.#content;
    const { names, log } = this.#rules.gate;
    const head = { bytesMax: this.bytesMax, contentType, grpcEncoding, isFixed };
    return new InspectedStream(this.#inspector, {
      call: this.#call,
      log,
      framing: isGrpcType(contentType) ? grpcFraming(head, names) : eventFraming(head),
      contentEncoding,
      endsBeyond: this.endsBeyond,
    });
  }

  hear(chunk: Buffer): void {
    this.#toolLists.hear(chunk);
  }

  keep(bytes: number): boolean {
    const isKept = room.keep(ownerOf(this.#rules.identity), bytes);
    if (!isKept) logCrowded(this.#rules, this.#call);
    return isKept;
  }

  isKnownClean(bytes: Buffer): boolean {
    const { gate, identity } = this.#rules;
    // The same tools may be listed by another server, or to another tenant.
    if (this.#toolLists.isMcp) return false;
    if (gate.answerMemory.isSensitive(identity.tenantId, toolNameOf(this.#call))) return false;
    return gate.answerReader.isKnownClean(identity, { ...this.#content, bytes });
  }

  async seen(answer: TappedBytes): Promise<TappedJudgement> {
    try {
      return await this.#judge(answer);
    } catch (error) {
      logUnread(this.#rules, this.#call, error, 'an answer could not be read');
      return this.#isHeld ? { refusal: error } : 'pass';
    }
  }

  async #judge({ status, bytes, extent }: TappedBytes): Promise<TappedJudgement> {
    const piece = { ...this.#content, bytes, extent };
    const {
      reasons,
      cuts,
      bytes: admitted,
    } = await this.#inspector.inspect(piece, {
      rules: { ...this.#rules, isEnforced: this.#isHeld },
      facts: (plain) => this.#factsOf(status, extent, plain),
    });
    if (reasons.length > 0) {
      const isOnlyLong = extent === 'cut' && reasons.join() === unreadable.join();
      return { refusal: isOnlyLong ? blocked(reasons, isLongerThan(this.bytesMax)) : blocked(reasons) };
    }
    return cuts.length > 0 ? { instead: admitted, reasons: sanitized(cuts) } : 'pass';
  }

  async #factsOf(status: number, extent: TappedBytes['extent'], plain: Buffer): Promise<PieceFacts> {
    const drift = await this.#toolLists.driftIn(plain, extent === 'whole');
    return {
      response_status: status,
      ...(extent === 'whole' ? {} : { extent }),
      ...(drift ? { mcp_drift: drift } : {}),
    };
  }

  redactedFields(fields: readonly string[], reasons: readonly string[]): string[] {
    return redactedHead(this.#rules.gate, fields, reasons);
  }

  refuse({ refusal }: Refused): void {
    const error = toGatewayError(refusal);
    error.traceId = this.#call.traceId;
    const codes = error.extra.reason_codes?.join(',') ?? error.code;
    answerProblem(this.#exchange, error, refusalHeaders(this.#rules.gate.names, this.#call.traceId, codes));
  }
}

/** The facts of the head that tell how the body is read. */
type AnswerContent = Omit<Piece, 'bytes'> & { readonly contentEncoding: string };

/**
 * Tells whether a body passes unread: it has no coding, its type is not one of text, and it begins as no text
 * and no office file does.
 */
const passesUnread = ({ contentType, contentEncoding }: AnswerContent, chunk: Buffer): boolean =>
  contentEncoding === '' &&
  opaqueTypes.test(contentType) &&
  !textSuffix.test(contentType) &&
  beginsOpaque(chunk) &&
  !(isZip(chunk) && (officeTypes.test(contentType) || isOfficeFile(chunk)));

function logCrowded({ gate, tenant }: ResponseRules, { traceId }: DecidedCall): void {
  if (!room.isDueToTell(performance.now())) return;
  gate.log.error(
    { trace_id: traceId, tenant_id: tenant.id },
    'answers pass unread: too many are being read at once',
  );
}

function logUnread({ gate }: ResponseRules, { traceId }: DecidedCall, err: unknown, message: string): void {
  gate.log.error({ trace_id: traceId, err }, message);
}
