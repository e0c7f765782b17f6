import type { DecidedCall } from '../core/call.ts';
import { asksForFurtherPage, asksForTools, speaksMcp } from '../decision/facts/mcp-call.ts';
import { listingCallOf, type SeenList, type ShownDrift } from '../decision/facts/tool-memory.ts';
import type { AnswerGate } from '../decision/gate.ts';
import { codingsOf } from '../inspect/decode/packed/inflate.ts';
import { type ListedTools, mayListTools, toolLists } from '../tenants/listed-tools.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { eventsIn } from './event-stream.ts';
import { ToolListListener } from './tool-list-listener.ts';

/** The room for what is kept of an answer, as in `Tap`, and a place for what was found. */
interface Room {
  readonly bytesMax: number;
  /** Bytes up to which the body of the call is decoded, as the tenant wants it. */
  readonly maxDecodedBytes: number;
  keep(bytes: number): boolean;
  /** Keeps facts with the trace of the call. */
  note(facts: object): void;
}

interface AnswerHead {
  readonly status: number;
  readonly contentType: string;
  readonly contentEncoding: string;
}

/** Number of drifts of one stream that its trace keeps. */
const driftsMax = 4;
const eventStreamType = /^text\/event-stream\b/i;
const unread = { tools: undefined, hasMore: false };

/** Looks for the tools that an MCP server lists in the answer to one call, be it JSON or a stream. */
export class ToolListScan {
  /** Tells whether the call spoke MCP. */
  readonly isMcp: boolean;
  readonly #gate: AnswerGate;
  readonly #call: DecidedCall;
  readonly #room: Room;
  #head: AnswerHead = { status: 0, contentType: '', contentEncoding: '' };
  #listener: ToolListListener | undefined;
  #drifts = 0;

  constructor(gate: AnswerGate, call: DecidedCall, room: Room) {
    this.isMcp = speaksMcp(call);
    this.#gate = gate;
    this.#call = call;
    this.#room = room;
  }

  /**
   * Takes the head of the answer. Streams of MCP, and what may be its old transport, are read as they pass.
   */
  begin(head: AnswerHead, exchange: Pick<Exchange, 'answer'>): void {
    this.#head = head;
    const isGet = this.#call.method === 'GET';
    const isStream = eventStreamType.test(head.contentType) && codingsOf(head.contentEncoding).length === 0;
    if (!isStream || !this.#isSuccess || !(this.isMcp || isGet)) return;
    const { bytesMax, keep } = this.#room;
    const listener = new ToolListListener({
      bytesMax,
      keep,
      isMcp: this.isMcp,
      isListDue: isGet || asksForTools(this.#call),
      isFurtherPage: this.#isFurtherPage,
      onList: (list) => this.#heard(list),
    });
    this.#listener = listener;
    exchange.answer.once('close', () => listener.end());
  }

  hear(chunk: Buffer): void {
    this.#listener?.take(chunk);
  }

  /** Records news in a list of a stream at once. */
  async #heard(list: SeenList): Promise<void> {
    const drift = await this.#gate.toolMemory.saw(listingCallOf(this.#call), list);
    if (!drift) return;
    this.#drifts += 1;
    if (this.#drifts > driftsMax) return;
    this.#room.note({ response_status: this.#head.status, mcp_drift: drift });
  }

  /** Resolves to news about the tools of a whole answer, if any. `plain` has no content coding. */
  async driftIn(plain: Buffer, isWhole: boolean): Promise<ShownDrift | undefined> {
    if (!this.isMcp || this.#listener || !this.#isSuccess) return undefined;
    const isReadable = isWhole && plain.length > 0;
    const lists = isReadable ? this.#listsIn(plain) : [];
    const isListLost = !isReadable && asksForTools(this.#call);
    let drift: ShownDrift | undefined;
    for (const { tools, hasMore } of isListLost ? [unread] : lists) {
      const isPart = hasMore || this.#isFurtherPage;
      drift =
        (await this.#gate.toolMemory.saw(listingCallOf(this.#call), { tools, hasMore, isPart })) ?? drift;
    }
    return drift;
  }

  /**
   * Returns the lists of a whole answer. A compressed stream may come here, since it was not read in passing.
   */
  #listsIn(plain: Buffer): readonly (ListedTools | typeof unread)[] {
    const texts = eventStreamType.test(this.#head.contentType) ? eventsIn(plain) : [plain.toString()];
    return texts.filter(mayListTools).flatMap((text): (ListedTools | typeof unread)[] => {
      const lists = toolLists(text);
      return lists ? [...lists] : [unread];
    });
  }

  get #isSuccess(): boolean {
    return this.#head.status >= 200 && this.#head.status < 300;
  }

  get #isFurtherPage(): boolean {
    return asksForTools(this.#call) && asksForFurtherPage(this.#call, this.#room.maxDecodedBytes);
  }
}
