import type { Socket } from 'node:net';
import { AgentSessions } from './agent-sessions.ts';
import type { Origin, OriginContext, Waiting } from './carrier.ts';
import type { TlsSessionStore } from './connect.ts';
import type { Session } from './session.ts';

/**
 * Sends requests over HTTP/2 sessions with one scheme, host and port. Each agent has its own, because an
 * upstream ends a session with all that runs on it: where streams are cancelled too fast, or answers not read.
 */
export class SessionOrigin implements Origin {
  running = 0;
  usedTick = 0;
  readonly #context: OriginContext;
  readonly #dial: (session: TlsSessionStore) => Promise<Socket>;
  readonly #tlsSession: TlsSessionStore = { session: undefined };
  /** Agents that have a session or wait for one. */
  readonly #agents = new Map<string, AgentSessions>();
  /** Counts the sessions that stand or are being opened. */
  #open = 0;
  /** Tells whether an agent waits for a place. */
  #isShort = false;
  #isRetired = false;

  constructor(context: OriginContext, dial: (session: TlsSessionStore) => Promise<Socket>) {
    this.#context = context;
    this.#dial = dial;
  }

  dispatch(request: Waiting): void {
    this.running++;
    this.repeat(request);
  }

  repeat(request: Waiting): void {
    const { agentId } = request;
    const sessions = this.#agents.get(agentId) ?? this.#sessionsOf(agentId);
    sessions.send(request);
  }

  release(request: Waiting, tick: number): void {
    this.running--;
    this.usedTick = tick;
    this.#agents.get(request.agentId)?.forget(request);
    this.#dropIfEmpty(request.agentId);
  }

  retire(): void {
    this.#isRetired = true;
    for (const sessions of this.#agents.values()) sessions.retire();
  }

  sweep(tick: number): void {
    for (const sessions of this.#agents.values()) sessions.sweep(tick);
  }

  /** Closes nothing: an agent keeps one session, and for less long than an upstream could say of connections. */
  dropIdle(): boolean {
    return false;
  }

  #sessionsOf(agentId: string): AgentSessions {
    const sessions = new AgentSessions(this.#context, {
      dial: () => this.#dial(this.#tlsSession),
      take: () => this.#take(),
      free: () => this.#free(agentId),
      idled: () => this.#isShort && this.#idlest()?.close(),
    });
    if (this.#isRetired) sessions.retire();
    this.#agents.set(agentId, sessions);
    return sessions;
  }

  #dropIfEmpty(agentId: string): void {
    if (this.#agents.get(agentId)?.isEmpty) this.#agents.delete(agentId);
  }

  /** Takes a place for a session. Where none is free, the session that has been idle longest makes room. */
  #take(): boolean {
    this.#isShort = this.#open >= this.#context.connectionsMax;
    if (this.#isShort) this.#idlest()?.close();
    else this.#open++;
    return !this.#isShort;
  }

  #free(agentId: string): void {
    this.#open--;
    this.#isShort = false;
    this.#dropIfEmpty(agentId);
    for (const it of this.#agents.values()) it.openAsNeeded();
  }

  #idlest(): Session | undefined {
    const idle = [...this.#agents.values()].flatMap((it) => it.idlest ?? []);
    return idle.toSorted((a, b) => a.idleTick - b.idleTick)[0];
  }
}
