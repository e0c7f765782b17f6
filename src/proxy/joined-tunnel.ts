import type { Socket } from 'node:net';
import { normaliseHost } from '../core/target.ts';
import { Gathered } from '../wire/http1/gathered.ts';
import { readFirstWords } from '../wire/tls/client-hello.ts';

/** Reason why the gateway closed a tunnel, or `closed` where one of its ends did. */
type TunnelEnd = 'closed' | 'other server name' | 'no hello' | 'idle' | 'not allowed any more' | 'shut down';

interface Moved {
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/**
 * Joins a client and an upstream whose bytes go to each other as they are. Each side gets them as fast as it
 * takes them, and is closed when the other is. Where the client begins to speak TLS, the name that it asks
 * for must be the host of the tunnel. Otherwise the tunnel that policy has judged would lead to a neighbour
 * of that host. The client's first bytes wait for that; the upstream may speak before.
 */
export class JoinedTunnel {
  /** Hears why the tunnel ended, once: both sides are closed then, or will be. */
  onEnd: (end: TunnelEnd, moved: Moved) => void = () => {};
  /** Hears that both sides are closed, once. Until then the tunnel has to be ticked. */
  onClosed: () => void = () => {};
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #host: string;
  readonly #firstWords = new Gathered();
  readonly #sentBefore: number;
  readonly #receivedBefore: number;
  #isHeld = true;
  #isEnded = false;
  #sidesOpen = 2;
  #progress = -1;
  #stillTicks = 0;
  #heldTicks = 0;

  constructor(client: Socket, upstream: Socket, host: string) {
    this.#client = client;
    this.#upstream = upstream;
    this.#host = host;
    // These bytes came before the tunnel: the client's CONNECT, and ours where a parent proxy is asked.
    this.#sentBefore = upstream.bytesWritten;
    this.#receivedBefore = upstream.bytesRead - upstream.readableLength;
    for (const socket of [client, upstream]) socket.setTimeout(0).on('error', () => socket.destroy());
    client.once('close', () => this.#leave());
    upstream.once('close', () => this.#leave());
    upstream.pipe(client);
    client.on('readable', this.#onFirstWords).on('end', this.#onFirstWords);
  }

  /**
   * Ends the tunnel where it is late; to be called at every tick of a clock. It is late after `idleTicks` in
   * which nothing has moved. It is late after `helloTicks` where a client has begun to speak TLS and not said
   * to whom. The short wait also counts where one side is closed and the other takes nothing of what is left.
   */
  tick(idleTicks: number, helloTicks: number): void {
    const progress = flushed(this.#client) + flushed(this.#upstream);
    this.#stillTicks = progress === this.#progress ? this.#stillTicks + 1 : 0;
    this.#progress = progress;
    if (this.#isHeld && this.#firstWords.length > 0 && ++this.#heldTicks > helloTicks) this.end('no hello');
    else if (this.#stillTicks > (this.#isEnded ? helloTicks : idleTicks)) this.end('idle');
  }

  /** Ends the tunnel at once. */
  end(why: TunnelEnd): void {
    this.#tell(why);
    this.#client.destroy();
    this.#upstream.destroy();
  }

  readonly #onFirstWords = (): void => {
    let words: ReturnType<typeof readFirstWords>;
    while (!words) {
      const chunk: Buffer | null = this.#client.read();
      if (!chunk) break;
      this.#firstWords.add(chunk);
      words = readFirstWords(this.#firstWords.peek());
    }
    if (!words && !this.#client.readableEnded) return;
    // A client that has nothing to say may still listen; one that ends in the middle of its hello has left.
    const isCut = !words && this.#firstWords.length > 0;
    if (isCut || words?.kind === 'malformed') this.end('no hello');
    else if (words?.kind === 'tls' && !this.#isNamed(words.serverName)) this.end('other server name');
    else this.#letGo();
  };

  #isNamed(serverName: string): boolean {
    return serverName === '' || normaliseHost(serverName) === this.#host;
  }

  #letGo(): void {
    this.#isHeld = false;
    this.#client.off('readable', this.#onFirstWords).off('end', this.#onFirstWords);
    const held = this.#firstWords.take();
    if (held.length > 0) this.#upstream.write(held);
    if (this.#client.readableEnded) this.#upstream.end();
    else this.#client.pipe(this.#upstream);
  }

  /** Closes both sides after one has closed. The other one takes what is still on its way to it. */
  #leave(): void {
    this.#tell('closed');
    this.#client.destroySoon();
    this.#upstream.destroySoon();
    this.#sidesOpen -= 1;
    if (this.#sidesOpen === 0) this.onClosed();
  }

  #tell(why: TunnelEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.onEnd(why, {
      sentBytes: this.#upstream.bytesWritten - this.#sentBefore,
      receivedBytes: this.#upstream.bytesRead - this.#receivedBefore,
    });
  }
}

/** Returns the number of bytes that came, and that have left for good. */
const flushed = (socket: Socket): number => socket.bytesRead + socket.bytesWritten - socket.writableLength;
