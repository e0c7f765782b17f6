import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SeenList } from '../decision/facts/tool-memory.ts';
import { mayListTools, toolLists } from '../tenants/listed-tools.ts';
import { EventStream } from './event-stream.ts';

export interface ToolListListenerOptions {
  /** Bytes that one event may have. */
  readonly bytesMax: number;
  /** Tells whether so many more bytes may be kept, as for `EventStream`. */
  keep(bytes: number): boolean;
  /** Tells whether the call spoke MCP. A stream of any other call must begin as one of that protocol does. */
  readonly isMcp: boolean;
  /** Tells whether an event that is too long to be kept may well be a list. */
  readonly isListDue: boolean;
  /** Tells whether the call asked for another page than the first. */
  readonly isFurtherPage: boolean;
  /** Takes one list after the other. Never rejects. */
  onList(list: SeenList): Promise<void>;
}

/** Number of events with lists that are read of one stream. One more is reported as an unread list. */
export const listsPerStreamMax = 64;
/**
 * Type of the event that begins a stream of the transport that MCP had before 2025-03-26. It names where
 * messages are posted.
 */
const firstEvent = 'endpoint';

const unread: SeenList = { tools: undefined, isPart: true, hasMore: false };

/**
 * Reads the lists of tools in a stream of server-sent events while it passes, since streams may be open for
 * hours. It does so whatever was asked, because on the old transport all answers come on one stream.
 */
export class ToolListListener {
  readonly #options: ToolListListenerOptions;
  readonly #stream: EventStream;
  #isListening = true;
  #isFirst = true;
  #isFurtherPage: boolean;
  #events = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(options: ToolListListenerOptions) {
    const { bytesMax, keep, isFurtherPage } = options;
    this.#options = options;
    this.#isFurtherPage = isFurtherPage;
    this.#stream = new EventStream({
      bytesMax,
      keep,
      onEvent: ({ type, data }) => this.#hear(type, data),
      onTooLong: () => this.#hear('', undefined),
    });
  }

  take(chunk: Buffer): void {
    if (this.#isListening) this.#stream.take(chunk);
  }

  end(): void {
    this.#isListening = false;
    this.#stream.end();
  }

  #hear(type: string, data: string | undefined): void {
    const { isMcp, isListDue } = this.#options;
    const isOther = this.#isFirst && !isMcp && type !== firstEvent;
    this.#isFirst = false;
    if (isOther) this.end();
    if (!this.#isListening || !(data === undefined ? isListDue : mayListTools(data))) return;
    this.#events += 1;
    const isRead = this.#events <= listsPerStreamMax && data !== undefined && this.#options.keep(data.length);
    if (this.#events > listsPerStreamMax) this.end();
    this.#reading = this.#reading.then(() => this.#read(isRead ? data : undefined));
  }

  /** Reads a list in a turn of its own, so that the event itself goes to the agent first. */
  async #read(text: string | undefined): Promise<void> {
    await nextTurn();
    const { keep, onList } = this.#options;
    const lists = text === undefined ? undefined : toolLists(text);
    keep(-(text?.length ?? 0));
    if (!lists) return onList(unread);
    for (const { tools, hasMore } of lists) {
      await onList({ tools, hasMore, isPart: hasMore || this.#isFurtherPage });
      this.#isFurtherPage = hasMore;
    }
  }
}
