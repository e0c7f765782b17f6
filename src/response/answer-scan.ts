import type { InboundRoute, ResponseScanConfig, TenantConfig } from '../config/schema.ts';
import type { Call, DataClass, Identity } from '../core/call.ts';
import { toGatewayError } from '../core/errors.ts';
import type { AnswerContent, AnswerReading } from '../decision/answers/read-answer.ts';
import { toResponseScan } from '../decision/answers/response-scan.ts';
import type { Gate } from '../decision/gate.ts';
import { isBinary } from '../inspect/decode/packed/binary.ts';
import { compressionOf } from '../inspect/decode/packed/compression.ts';
import { opaqueKindOf } from '../inspect/decode/packed/opaque.ts';
import { isLinewise, isPartial } from '../wire/client/scrub/scrubbable.ts';
import { isGrpcType, messageCodingFields } from '../wire/grpc/grpc-type.ts';
import type { Answer } from '../wire/http1/answer.ts';
import { fieldOf } from '../wire/http1/headers.ts';
import { refusalHeaders } from '../wire/server/decision-headers.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { answerProblem } from '../wire/server/problem.ts';
import { admitFields, type FieldsOf, observeFields } from './answer-fields.ts';
import { createAnswerRoom } from './answer-room.ts';
import {
  blocked,
  classesToCut,
  isEnforced,
  isLongerThan,
  isRead,
  rememberAnswer,
  scanOf,
  toldRedacted,
  toldRedactions,
  toolNameOf,
  unsanitizable,
  whyNotLetIn,
} from './answer-rules.ts';
import { EventScan, isDecodable } from './event-scan.ts';
import {
  type FieldsJudgement,
  type Handling,
  type Judgement,
  type Refused,
  type Tap,
  TappedAnswer,
  type TappedBytes,
  type TrailersJudgement,
} from './tapped-answer.ts';
import { ToolListScan } from './tool-list-scan.ts';

const megabyte = 1024 * 1024;
/** The room for all answers that one process is reading. */
const room = createAnswerRoom(64 * megabyte, 16 * megabyte);
/** Between two lines of the log about answers for which there was no room. */
const crowdedEveryMs = 1_000;
let crowdedLoggedMs = 0;

/** Formats without text, by the name that servers give them. What is read is decided by the bytes. */
const opaqueTypes =
  /^(?:image\/(?!svg)|audio\/|video\/|font\/|binary\/octet-stream|application\/(?:octet-stream|zip|gzip|x-gzip|x-tar|zstd|pdf|java-archive|vnd\.))/i;
/** In formats of text, by their suffix (RFC 6839). */
const textSuffix = /\+(?:json|xml)\b/i;
/** A sample of the first chunk: content of this size is read whatever its type says. */
const sampleBytesMin = 64;
const sampleBytesMax = 512;

/**
 * Whether content begins as a file of a known format does, by its first bytes and by what follows them: behind the first bytes of a
 * picture may stand a text.
 */
function beginsOpaque(chunk: Buffer): boolean {
  const isKnown = opaqueKindOf(chunk) !== undefined || compressionOf(chunk) !== undefined;
  return isKnown && chunk.length >= sampleBytesMin && isBinary(chunk.subarray(0, sampleBytesMax));
}

/** Answers in which a message may come long after the one before it. */
const isStream = (fields: readonly string[]): boolean =>
  isLinewise(fields) ||
  /^(?:application\/grpc|multipart\/x-mixed-replace)/i.test(fieldOf(fields, 'content-type'));

/** Answers that are taken apart as they come, if they have no more than one coding, which can be taken off as they come. */
const hasEvents = (fields: readonly string[]): boolean =>
  isLinewise(fields) || isGrpcType(fieldOf(fields, 'content-type'));

/**
 * Where the answer to a call is to be written: to the agent as it is, or past the reader that `response_scan` of the tenant, the tool
 * or the route asks for.
 */
export function answerFor(
  gate: Gate,
  call: Call,
  exchange: Exchange,
  route: InboundRoute | undefined,
): Answer {
  const tenant = gate.tenants.find(call.identity?.tenantId ?? '');
  if (!tenant) return exchange.answer;
  const scan = scanOf(gate, call, tenant, route);
  if (!isRead(gate, call, tenant, scan)) return exchange.answer;
  return new TappedAnswer(exchange.answer, new AnswerScan(gate, call, exchange, { tenant, scan, route }));
}

/** By which an answer is read. */
interface Rules {
  readonly tenant: TenantConfig;
  readonly scan: ResponseScanConfig;
  readonly route: InboundRoute | undefined;
}

/** Reads the answer to one call, keeps with its trace what is found, and under `enforce` refuses what must not come in. */
class AnswerScan implements Tap {
  readonly bytesMax: number;
  readonly endsBeyond: boolean;
  events: EventScan | undefined;
  readonly #gate: Gate;
  readonly #call: Call;
  readonly #exchange: Exchange;
  readonly #tenant: TenantConfig;
  readonly #enforces: boolean;
  /** Bodies may be read for what must be known again, where nothing else is wanted of answers. */
  readonly #isFieldsRead: boolean;
  readonly #toolLists: ToolListScan;
  #isHeld = false;
  #contentType = '';
  #contentEncoding = '';
  #messageCodings: readonly string[] = [];
  /** Parts must stay as they are, or nobody could put them together. */
  #isPartial = false;
  readonly #route: InboundRoute | undefined;

  constructor(gate: Gate, call: Call, exchange: Exchange, { tenant, scan, route }: Rules) {
    this.#gate = gate;
    this.#route = route;
    this.#call = call;
    this.#exchange = exchange;
    this.#tenant = tenant;
    const { maxBytes, beyond } = scan;
    this.bytesMax = maxBytes;
    this.endsBeyond = beyond === 'end';
    const { maxDecodedBytes } = tenant;
    this.#toolLists = new ToolListScan(gate, call, {
      bytesMax: maxBytes,
      maxDecodedBytes,
      keep: (bytes) => this.keep(bytes),
    });
    this.#enforces = isEnforced(gate, scan, tenant);
    this.#isFieldsRead = scan.mode !== 'off';
  }

  admitHead(status: number, fields: readonly string[]): FieldsJudgement {
    const judgement = this.#admit('head', status, fields);
    if ('refusal' in judgement || judgement.reasons.length === 0) return judgement;
    return { fields: this.redactedFields(judgement.fields, judgement.reasons) };
  }

  admitTrailers(status: number, trailers: readonly [string, string][]): TrailersJudgement {
    const judgement = this.#admit('trailers', status, trailers.flat());
    if ('refusal' in judgement) return judgement;
    const { fields, reasons } = judgement;
    const pairs: [string, string][] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) pairs.push([fields[i] as string, fields[i + 1] as string]);
    return { trailers: pairs, reasons };
  }

  #admit(
    part: FieldsOf['part'],
    status: number,
    fields: readonly string[],
  ): Refused | { fields: string[]; reasons: readonly string[] } {
    const of = { call: this.#call, tenant: this.#tenant, part, status };
    const asTheyCame = { fields: fields as string[], reasons: [] };
    if (!this.#isFieldsRead) return asTheyCame;
    if (!this.#enforces) {
      // The answer goes first.
      setImmediate(observeFields, this.#gate, of, fields);
      return asTheyCame;
    }
    try {
      const { reasons, cuts, fields: admitted } = admitFields(this.#gate, of, fields);
      if (reasons.length > 0) {
        this.events?.refuseEnd(reasons);
        return { refusal: blocked(reasons) };
      }
      return cuts.length === 0
        ? asTheyCame
        : { fields: [...admitted], reasons: ['RESPONSE_SANITIZED', ...cuts] };
    } catch (error) {
      this.#gate.log.error(
        { trace_id: this.#call.traceId, err: error },
        'the head of an answer could not be read',
      );
      this.events?.refuseEnd(['RESPONSE_BLOCKED', 'UNREADABLE']);
      return { refusal: error };
    }
  }

  handling(status: number, fields: readonly string[], chunk: Buffer | undefined): Handling {
    const isBodiless = status === 204 || status === 304 || this.#call.method === 'HEAD';
    const mayPassUnread = this.bytesMax === 0 && !(this.#enforces && this.endsBeyond);
    if (isBodiless || mayPassUnread) return 'pass';
    this.#contentType = fieldOf(fields, 'content-type');
    this.#contentEncoding = fieldOf(fields, 'content-encoding');
    this.#messageCodings = messageCodingFields.map((it) => fieldOf(fields, it));
    const isEvents = this.#enforces && hasEvents(fields) && isDecodable(this.#contentEncoding);
    const contentEncoding = isEvents ? '' : this.#contentEncoding;
    const head = { status, contentType: this.#contentType, contentEncoding };
    if (!chunk) this.#toolLists.begin(head, this.#exchange);
    if (chunk && this.#isOpaque(chunk)) return 'pass';
    if (!this.#enforces) return 'read';
    this.#isPartial = isPartial(status, fields);
    if (isEvents) {
      this.events = new EventScan(this.#gate, this.#call, this.#route, {
        bytesMax: this.bytesMax,
        endsBeyond: this.endsBeyond,
        contentType: this.#contentType,
        contentEncoding: this.#contentEncoding,
        grpcEncoding: fieldOf(fields, 'grpc-encoding'),
        isPartial: this.#isPartial,
      });
      return 'events';
    }
    // A stream that cannot be taken apart is held, unless unread content may come in.
    this.#isHeld = this.endsBeyond || !isStream(fields) || hasEvents(fields);
    return this.#isHeld ? 'hold' : 'read';
  }

  /** Passes unread: no text is called so, and none begins so. */
  #isOpaque(chunk: Buffer): boolean {
    return (
      this.#contentEncoding === '' &&
      opaqueTypes.test(this.#contentType) &&
      !textSuffix.test(this.#contentType) &&
      beginsOpaque(chunk)
    );
  }

  hear(chunk: Buffer): void {
    this.#toolLists.hear(chunk);
  }

  keep(bytes: number): boolean {
    const isKept = room.keep(this.#tenant.id, bytes);
    if (!isKept) this.#logCrowded();
    return isKept;
  }

  #logCrowded(): void {
    const nowMs = performance.now();
    if (crowdedLoggedMs > 0 && nowMs - crowdedLoggedMs < crowdedEveryMs) return;
    crowdedLoggedMs = nowMs;
    const { id } = this.#tenant;
    this.#gate.log.error(
      { trace_id: this.#call.traceId, tenant_id: id },
      'answers pass unread: too many are being read at once',
    );
  }

  isKnownClean(bytes: Buffer): boolean {
    const { identity } = this.#call;
    // The same tools may be listed by another server, or to another tenant.
    if (this.#toolLists.isMcp || identity === undefined) return false;
    if (this.#gate.answerMemory.isSensitive(identity.tenantId, toolNameOf(this.#call))) return false;
    return this.#gate.answerReader.isKnownClean(identity, this.#contentOf(bytes));
  }

  #contentOf(bytes: Buffer): AnswerContent {
    return {
      bytes,
      contentType: this.#contentType,
      contentEncoding: this.#contentEncoding,
      messageCodings: this.#messageCodings,
    };
  }

  async seen(answer: TappedBytes): Promise<Judgement> {
    try {
      return await this.#judge(answer);
    } catch (error) {
      this.#gate.log.error({ trace_id: this.#call.traceId, err: error }, 'an answer could not be read');
      return this.#isHeld ? { refusal: error } : 'pass';
    }
  }

  async #judge({ status, bytes, extent }: TappedBytes): Promise<Judgement> {
    const { identity, traceId } = this.#call;
    const isCrowded = extent === 'crowded';
    const isRefusedUnread = this.bytesMax === 0 && this.#isHeld && extent === 'cut';
    if (!identity || (bytes.length === 0 && !isCrowded && !isRefusedUnread)) return 'pass';
    const reading = await this.#gate.answerReader.read(identity, this.#contentOf(bytes));
    const verdict = this.#isHeld ? await this.#verdictOn(identity, reading, extent) : letIn;
    const { reasons, cuts, instead } = verdict;
    if (reasons.length === 0) rememberAnswer(this.#gate, this.#call, verdict.left ?? reading);
    const drift = await this.#toolLists.driftIn(reading.plain, extent === 'whole');
    const isTelling = reading.classes.length > 0 || reading.injection.detected;
    if (isTelling || reasons.length > 0 || drift || isCrowded) {
      const scan = toResponseScan(this.#gate, identity.tenantId, reading, Date.now());
      const further = {
        ...(extent === 'whole' ? {} : { extent }),
        ...(reasons.length > 0 ? { blocked: reasons } : {}),
        ...(instead ? { redacted: toldRedactions(reading.findings, cuts) } : {}),
        ...(drift ? { mcp_drift: drift } : {}),
      };
      this.#gate.answers.take(
        identity.tenantId,
        traceId,
        JSON.stringify({ ...scan, response_status: status, ...further }),
      );
    }
    if (reasons.length > 0) {
      const isOnlyLong = extent === 'cut' && isTooLong(reasons);
      return { refusal: isOnlyLong ? blocked(reasons, isLongerThan(this.bytesMax)) : blocked(reasons) };
    }
    return instead ? { instead, reasons: ['RESPONSE_SANITIZED', ...cuts] } : 'pass';
  }

  /** Judges an answer that is held. */
  async #verdictOn(
    identity: Identity,
    reading: AnswerReading,
    extent: TappedBytes['extent'],
  ): Promise<AnswerVerdict> {
    const isUnread = extent === 'crowded' || (extent === 'cut' && this.endsBeyond);
    const reasons = whyNotLetIn(this.#tenant, reading, isUnread);
    const cuts = reasons.length > 0 ? [] : classesToCut(this.#tenant, this.#call, reading.classes);
    if (cuts.length === 0) return { reasons, cuts };
    const { answerReader } = this.#gate;
    const redaction = { classes: cuts, isStart: extent !== 'whole' };
    const instead = this.#isPartial
      ? undefined
      : await answerReader.redact(identity, reading, this.#contentType, redaction);
    if (!instead) return { reasons: unsanitizable(cuts), cuts };
    const left = await answerReader.read(identity, {
      bytes: instead,
      contentType: this.#contentType,
      contentEncoding: '',
    });
    return { reasons, cuts, instead, left };
  }

  redactedFields(fields: readonly string[], reasons: readonly string[]): string[] {
    return toldRedacted(this.#gate, fields, reasons);
  }

  refuse({ refusal }: Refused): void {
    const error = toGatewayError(refusal);
    error.traceId = this.#call.traceId;
    const codes = error.extra.reason_codes?.join(',') ?? error.code;
    answerProblem(this.#exchange, error, refusalHeaders(this.#gate.names, this.#call.traceId, codes));
  }
}

interface AnswerVerdict {
  readonly reasons: readonly string[];
  /** The classes that had to be cut out. */
  readonly cuts: readonly DataClass[];
  /** The answer without it, and what that shows. */
  readonly instead?: Buffer;
  readonly left?: AnswerReading;
}

/** Nothing else is wrong with an answer that was not read to its end. */
const isTooLong = (reasons: readonly string[]): boolean => reasons.join() === 'RESPONSE_BLOCKED,UNREADABLE';

const letIn: AnswerVerdict = { reasons: [], cuts: [] };
