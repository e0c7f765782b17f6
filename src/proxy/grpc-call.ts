import type { ClassifiedCall, DecidedCall, ReceivedCall } from '../core/call.ts';
import type { GatewayError } from '../core/errors.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { codingsOf } from '../inspect/decode/packed/inflate.ts';
import { wasLetOut } from '../state/rules/destinations.ts';
import type { Forwarding, RelayOptions } from '../wire/client/relay.ts';
import type { UpstreamRequest } from '../wire/client/upstream.ts';
import { frameOf } from '../wire/grpc/grpc-prefix.ts';
import { fieldOf } from '../wire/http1/headers.ts';
import type { BodyRoom } from '../wire/server/body-ledger.ts';
import { refusalHeaders } from '../wire/server/decision-headers.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { failureFields, GrpcAnswer } from '../wire/server/grpc/answer.ts';
import type { GrpcMessage } from '../wire/server/grpc/messages.ts';
import type { FurtherBody } from './enforce.ts';
import { toRefusal } from './enforce.ts';
import { GrpcBody } from './grpc-body.ts';

const noBytes = Buffer.alloc(0);

interface Receiving {
  /** Bytes that one message may have. */
  readonly bytesMax: number;
  readonly room: BodyRoom;
  /** Returns the call as it is judged first. */
  toCall(body: Buffer, contentEncoding: string): ReceivedCall;
  judge(call: ReceivedCall, further: FurtherBody): void;
  /** Hears that the body failed before there was anything to judge. */
  failed(error: GatewayError): void;
  readonly way?: GrpcWay;
}

/** The part of an inbound route that concerns later messages. */
interface GrpcWay {
  /** Classifies a message by the tool of its route; undefined where the route names none. */
  classify(message: ReceivedCall): ClassifiedCall | undefined;
  /** Rejects where the route by which the call came does not stand any more. */
  checkWay(): Promise<void>;
}

/** The parts of the head that concern messages. */
interface GrpcHead {
  /** Flat [name, value, …]. */
  readonly headers: readonly string[];
  readonly contentEncoding: string;
}

/** Reads a gRPC body message by message. The first one goes with the call, and the others follow it. */
export function receiveGrpc(
  gate: () => EntranceGate,
  exchange: Exchange,
  head: GrpcHead,
  { bytesMax, room, toCall, judge, failed, way }: Receiving,
): void {
  const encoding = fieldOf(head.headers, 'grpc-encoding');
  const body = new GrpcBody(
    { bytesMax, encoding, room },
    {
      opened: (opening) => {
        const call = toCall(opening.body, opening.contentEncoding);
        // Messages have a coding of their own, and who would take off a coding of the whole body is not
        // known.
        if (codingsOf(head.contentEncoding).length > 0)
          call.readings.unreadable = 'gRPC has no coding of a whole body';
        judge(call, new GrpcCall(gate, exchange, { body, way }));
      },
      failed,
    },
  );
  body.readFrom(exchange);
}

/**
 * Keeps a gRPC call going that was let out: it judges what follows, and ends the call where that may not go.
 */
class GrpcCall implements FurtherBody {
  readonly #gate: () => EntranceGate;
  readonly #exchange: Exchange;
  readonly #body: GrpcBody;
  readonly #way: GrpcWay | undefined;
  #answer: GrpcAnswer | undefined;
  #forwarding: Forwarding | undefined;

  /** Asks `gate` anew for each message: a reload holds for calls that are open, too. */
  constructor(
    gate: () => EntranceGate,
    exchange: Exchange,
    { body, way }: { readonly body: GrpcBody; readonly way: GrpcWay | undefined },
  ) {
    this.#gate = gate;
    this.#way = way;
    this.#exchange = exchange;
    this.#body = body;
  }

  forward(
    { upstream }: EntranceGate,
    call: DecidedCall,
    request: UpstreamRequest,
    options: RelayOptions,
  ): void {
    const answer = new GrpcAnswer(options.response);
    this.#answer = answer;
    const sent = this.#body.release(request.body ?? noBytes, {
      inspect: (message, contentEncoding) => this.#inspect(call, message, contentEncoding),
      broken: (error) => this.#end(call.traceId, error),
    });
    this.#forwarding = upstream.forward(
      { ...request, ...sent },
      {
        ...options,
        response: answer,
        onCut: (error) => answer.failWith(failureFields(error, this.#gate().names)),
        onError: (error) => {
          this.#body.stop();
          options.onError(error);
        },
        onEnd: (outcome) => {
          this.#body.stop();
          options.onEnd?.(outcome);
        },
      },
    );
  }

  async #inspect(opening: DecidedCall, message: GrpcMessage, contentEncoding: string): Promise<Buffer> {
    await this.#way?.checkWay();
    const gate = this.#gate();
    const { payload } = message;
    const { contentType } = opening;
    const content = { contentType, contentEncoding, classify: this.#way?.classify };
    const decided = await gate.inspectMessage(opening, payload, content);
    if (!wasLetOut(decided.verdict)) throw toRefusal(gate, decided);
    const { sanitizedBody = payload } = decided.verdict;
    return sanitizedBody === payload ? message.frame : frameOf(sanitizedBody);
  }

  /** Ends both sides. The client is told why, in the trailers where the head of the answer is on its way. */
  #end(traceId: string, error: GatewayError): void {
    const { names, log } = this.#gate();
    if (error.code === 'INTERNAL') log.error({ trace_id: traceId, err: error.cause }, 'a call failed');
    const status = failureFields(error, names);
    const answer = this.#answer;
    if (!answer || answer.destroyed) return;
    answer.failWith(status);
    if (answer.headersSent) {
      answer.destroy();
      this.#forwarding?.abort();
      return;
    }
    this.#forwarding?.abort();
    const reasons = error.extra.reason_codes?.join(',') ?? error.code;
    const fields = ['Content-Type', 'application/grpc', ...refusalHeaders(names, traceId, reasons)];
    const own = status.filter(([name]) => name.startsWith('grpc-'));
    this.#exchange.refuse(200, [...fields, ...own.flat()], noBytes);
  }
}
