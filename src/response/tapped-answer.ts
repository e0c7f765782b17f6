import { withoutAnswerBodyFields } from '../wire/client/scrub/body-fields.ts';
import type { Answer } from '../wire/http1/answer.ts';
import { fieldOf } from '../wire/http1/headers.ts';
import type { EventTap, Redacted, Refused, Tap, TappedJudgement } from './tap.ts';
import { TappedStream, withoutBodyTrailers } from './tapped-stream.ts';

/*
 * An answer that is read on its way to the agent. It passes at once and is read when it is over, is held
 * until it was judged, or is let in event by event. To the upstream's side it is an answer like any other.
 */

type State = 'waiting' | 'passing' | 'holding' | 'judging' | 'refused';
type Listener = () => void;

const noListeners: readonly Listener[] = [];

export class TappedAnswer implements Answer {
  readonly #answer: Answer;
  readonly #tap: Tap;
  #state: State = 'waiting';
  #status = 0;
  #fields: string[] = [];
  #trailers: [string, string][] = [];
  /** Chunks to be read and, while the answer is held, to be sent. */
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Number of bytes of these chunks that were read. */
  #readBytes = 0;
  /** Tells whether more is to be read. */
  #isReading = false;
  #isEnded = false;
  #isCrowded = false;
  #isSeen = false;
  #onDrain: readonly Listener[] = noListeners;
  #stream: TappedStream | undefined;

  constructor(answer: Answer, tap: Tap) {
    this.#answer = answer;
    this.#tap = tap;
    answer.once('close', () => this.#closed());
  }

  /** Tells whether a head has gone out. Until then another answer can replace this one. */
  get headersSent(): boolean {
    return this.#answer.headersSent;
  }

  get writableEnded(): boolean {
    return this.#isEnded || this.#answer.writableEnded;
  }

  get destroyed(): boolean {
    return this.#answer.destroyed;
  }

  /** Tells whether trailers may go out. A held answer may still get some, which go out if they can. */
  get chunkedEncoding(): boolean {
    return this.#isHeld || this.#stream?.isHeadDue || this.#answer.chunkedEncoding;
  }

  get #isHeld(): boolean {
    return this.#state === 'holding' || this.#state === 'judging';
  }

  writeHead(status: number, written: string[]): void {
    const head = this.#tap.admitHead?.(status, written) ?? { fields: written };
    if ('refusal' in head) {
      this.#refuse(head);
      return;
    }
    const { fields } = head;
    const handling = this.#tap.handling(status, fields, undefined);
    this.#isReading = handling === 'read' || handling === 'hold';
    if (handling === 'hold') {
      this.#state = 'holding';
      this.#status = status;
      this.#fields = fields;
      return;
    }
    const { events } = this.#tap;
    this.#status = status;
    this.#state = 'passing';
    if (handling === 'events' && events) {
      this.#stream = this.#openStream(events, status, fields);
      return;
    }
    this.#answer.writeHead(status, fields);
    this.#fields = handling === 'read' ? fields : [];
  }

  /** Tells whether another answer was given, since this one failed before any of it had gone out. */
  get #isReplaced(): boolean {
    return this.#isHeld && this.#answer.headersSent;
  }

  flushHeaders(): void {
    if (this.#state !== 'passing') return;
    this.#stream?.sendHead();
    this.#answer.flushHeaders();
  }

  write(chunk: Buffer): boolean {
    if (this.#state === 'refused') return true;
    this.#take(chunk);
    if (this.#stream) return this.#stream.write(chunk);
    if (this.#state === 'passing') return this.#answer.write(chunk);
    if (this.#state === 'holding' && !this.#isReading) this.#judge();
    return this.#state === 'holding';
  }

  end(chunk?: Buffer): void {
    if (this.#state === 'refused') return;
    if (chunk) this.#take(chunk);
    this.#isEnded = true;
    if (this.#stream) this.#stream.end(chunk);
    else if (this.#state === 'passing') this.#answer.end(chunk);
    else if (this.#state === 'holding') this.#judge();
  }

  addTrailers(written: [string, string][]): void {
    if (this.#state === 'refused') return;
    const judgement = this.#tap.admitTrailers?.(this.#status, written) ?? { trailers: written, reasons: [] };
    if ('refusal' in judgement) this.#refuseTrailers(judgement);
    else if (this.#isHeld) {
      const { trailers, reasons } = judgement;
      this.#trailers = trailers;
      if (reasons.length > 0) this.#fields = this.#tap.redactedFields(this.#fields, reasons);
    } else if (this.#stream) this.#stream.trailers = judgement.trailers;
    else this.#answer.addTrailers(judgement.trailers);
  }

  #refuseTrailers(refused: Refused): void {
    if (this.#isHeld) this.#refuse(refused);
    else if (this.#stream) this.#stream.refuseEnd();
    else {
      // A part that has gone out must not look whole.
      this.#state = 'refused';
      this.#answer.destroy();
    }
  }

  /** Answers something else, since nothing has gone out yet. */
  #refuse(refused: Refused): void {
    this.#state = 'refused';
    this.#drop();
    this.#tap.refuse(refused);
  }

  destroy(): void {
    // A refused answer is complete, and its connection may serve on.
    if (this.#state !== 'refused') this.#answer.destroy();
  }

  on(event: 'drain', listener: Listener): void {
    this.#onDrain = [...this.#onDrain, listener];
    this.#answer.on(event, listener);
  }

  off(event: 'drain', listener: Listener): void {
    this.#onDrain = this.#onDrain.filter((it) => it !== listener);
    this.#answer.off(event, listener);
  }

  once(event: 'close', listener: Listener): void {
    this.#answer.once(event, listener);
  }

  #openStream(tap: EventTap, status: number, fields: string[]): TappedStream {
    return new TappedStream(this.#answer, tap, {
      status,
      fields: withoutAnswerBodyFields(fields),
      onData: (bytes) => this.#tap.hear?.(bytes),
      keep: (bytes) => this.#tap.keep(bytes),
      onFlow: () => this.#flow(),
      onRefused: () => {
        this.#state = 'refused';
      },
    });
  }

  #flow(): void {
    for (const listener of this.#onDrain) listener();
  }

  /** Keeps a chunk that is to be read, or that is held. */
  #take(chunk: Buffer): void {
    if (!this.#stream) this.#tap.hear?.(chunk);
    if (this.#isReading && this.#bytes === 0) this.#reconsider(chunk);
    if (this.#isHeld || this.#isReading) this.#keep(chunk);
  }

  #keep(chunk: Buffer): void {
    const isKept = this.#tap.keep(chunk.length);
    // A held chunk is kept even where there is no room for it, but no more is read.
    if (isKept) this.#bytes += chunk.length;
    else if (this.#isReading) this.#isCrowded = true;
    if (isKept || this.#isHeld) this.#chunks.push(chunk);
    if (!isKept || this.#isEnough) this.#full();
  }

  /**
   * Tells whether enough was kept. Only bytes behind the limit tell that an answer is longer than is read.
   */
  get #isEnough(): boolean {
    const { bytesMax, endsBeyond = false } = this.#tap;
    return endsBeyond && this.#isHeld ? this.#bytes > bytesMax : this.#bytes >= bytesMax;
  }

  #full(): void {
    this.#isReading = false;
    if (this.#state === 'passing') this.#showSoon();
  }

  /** Decides again by the first bytes, which may show that the body cannot be read. */
  #reconsider(chunk: Buffer): void {
    if (this.#tap.handling(this.#status, this.#fields, chunk) !== 'pass') return;
    this.#isReading = false;
    if (this.#state === 'holding') this.#release();
  }

  /** Has a held answer judged, and does what the judgement says. */
  #judge(): void {
    this.#state = 'judging';
    this.#show().then(
      (judgement) => this.#judged(judgement),
      (refusal: unknown) => this.#judged({ refusal }),
    );
  }

  #judged(judgement: TappedJudgement): void {
    if (this.#state !== 'judging' || this.destroyed || this.#isReplaced) return;
    if (judgement === 'pass') this.#release();
    else if ('instead' in judgement) this.#redact(judgement);
    else this.#refuse(judgement);
  }

  /** Reads an answer that has gone out already, once other work has had its turn. */
  #showSoon(): void {
    if (this.#isSeen) return;
    const drop = (): void => this.#drop();
    setImmediate(() => this.#show().then(drop, drop));
  }

  #show(): Promise<TappedJudgement> {
    if (this.#isSeen) return Promise.resolve('pass');
    this.#isSeen = true;
    const [first, ...others] = this.#chunks;
    const whole = first && others.length === 0 ? first : Buffer.concat(this.#chunks);
    const bytes = whole.length > this.#tap.bytesMax ? whole.subarray(0, this.#tap.bytesMax) : whole;
    this.#readBytes = bytes.length;
    const isWhole = this.#isEnded && bytes.length === this.#bytes;
    const extent = this.#isCrowded ? 'crowded' : isWhole ? 'whole' : 'cut';
    return this.#tap.seen({ status: this.#status, bytes, extent });
  }

  /** Sends the replacement of a held answer. */
  #redact({ instead, reasons }: Redacted): void {
    const behind = Buffer.concat(this.#chunks).subarray(this.#readBytes);
    const hadLength = fieldOf(this.#fields, 'content-length') !== '';
    const fields = this.#tap.redactedFields(withoutAnswerBodyFields(this.#fields), reasons);
    const length = ['Content-Length', String(instead.length + behind.length)];
    this.#fields = hadLength && this.#isEnded ? [...fields, ...length] : fields;
    this.#trailers = withoutBodyTrailers(this.#trailers);
    this.#chunks = behind.length > 0 ? [instead, behind] : [instead];
    this.#release();
  }

  /** Sends a held answer, as far as it is there. */
  #release(): void {
    const answer = this.#answer;
    const chunks = this.#chunks;
    this.#state = 'passing';
    this.#drop();
    try {
      answer.writeHead(this.#status, this.#fields);
      let isFlowing = true;
      const last = this.#isEnded ? chunks.pop() : undefined;
      for (const chunk of chunks) isFlowing = answer.write(chunk);
      if (this.#isEnded) {
        if (this.#trailers.length > 0 && answer.chunkedEncoding) answer.addTrailers(this.#trailers);
        answer.end(last);
      } else if (isFlowing) this.#flow();
    } catch (error) {
      if (answer.headersSent) answer.destroy();
      else this.#tap.refuse({ refusal: error });
    }
  }

  #closed(): void {
    this.#stream?.close();
    if (this.#state === 'passing' && this.#chunks.length > 0 && !this.#isSeen) {
      if (this.#isKnownClean()) this.#drop();
      else this.#showSoon();
    } else if (this.#isHeld) this.#drop();
  }

  /** Tells whether the answer came in one piece, as short ones do, and was clean a short while ago. */
  #isKnownClean(): boolean {
    const [only] = this.#chunks;
    if (!this.#isEnded || this.#chunks.length !== 1 || only?.length !== this.#bytes) return false;
    return this.#bytes < this.#tap.bytesMax && this.#tap.isKnownClean(only);
  }

  #drop(): void {
    this.#tap.keep(-this.#bytes);
    this.#bytes = 0;
    this.#chunks = [];
  }
}
