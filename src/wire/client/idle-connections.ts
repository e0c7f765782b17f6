import type { Connection } from './connection.ts';

/** Keeps the connections to one origin that wait for their next request. The one that was used last stands last. */
export class IdleConnections {
  readonly #connections: Connection[] = [];
  readonly #onChange: (more: number) => void;

  /** `onChange` is told how many more, or fewer, connections wait. */
  constructor(onChange: (more: number) => void) {
    this.#onChange = onChange;
  }

  add(connection: Connection): void {
    this.#connections.push(connection);
    this.#onChange(1);
  }

  /** Takes the connection that was used last. Those that the upstream has closed are dropped. */
  take(): Connection | undefined {
    for (let last = this.#connections.at(-1); last; last = this.#connections.at(-1)) {
      this.remove(last);
      if (last.isUsable) return last;
      last.destroy();
    }
    return undefined;
  }

  /** Lets go of a connection, where it is kept here. */
  remove(connection: Connection): void {
    const at = this.#connections.lastIndexOf(connection);
    if (at < 0) return;
    this.#connections.splice(at, 1);
    this.#onChange(-1);
  }

  /** Closes the connection that has waited longest. Returns false where none waits. */
  dropOldest(): boolean {
    const [oldest] = this.#connections;
    if (oldest) this.#drop(oldest);
    return oldest !== undefined;
  }

  /** Closes the connections that may not wait any longer at this tick. */
  sweep(tick: number): void {
    for (const it of this.#connections.filter(({ expiresTick }) => expiresTick <= tick)) this.#drop(it);
  }

  close(): void {
    for (const it of [...this.#connections]) this.#drop(it);
  }

  #drop(connection: Connection): void {
    this.remove(connection);
    connection.destroy();
  }
}
