import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { IssuedTokens } from './issued-tokens.ts';
import type { AccessToken } from './token-endpoint.ts';

/*
 * Keeps the access token of one credential. However many calls want it, it is asked for once at a time. After
 * a failure the next attempt waits for its time. A valid token stays in use, whatever happens at the token
 * endpoint. Nothing runs by itself: without calls no token is fetched.
 */

export type TokenSource = ReturnType<typeof createTokenSource>;

export interface TokenSourceOptions {
  fetch(): Promise<AccessToken>;
  /** Tokens of the credential, whichever source has fetched them. */
  readonly issued: IssuedTokens;
  /** Returns milliseconds since any moment. It is never set back. */
  now(): number;
  /** Reports a failure. There is a bounded number of them a minute. */
  onFailure(error: GatewayError): void;
}

/**
 * The time before a token's end, or the share of its lifetime, at which a new one is fetched while it is
 * still used.
 */
const refreshMsMax = 60_000;
const refreshShare = 0.2;
/** The time before a token's end at which it is no longer used: it would end on the way. */
const marginMsMax = 5_000;
const marginShare = 0.05;
/**
 * The age that a token must have to be given up after a 401, since agents can make an upstream answer 401.
 */
const ageMsMin = 30_000;
const backoffMsMin = 1_000;
const backoffMsMax = 60_000;

export function createTokenSource({ fetch, issued, now, onFailure }: TokenSourceOptions) {
  let held: ReturnType<typeof toHeld> | undefined;
  let flight: Promise<string> | undefined;
  let failures = 0;
  let retryAtMs = 0;
  let failure: GatewayError | undefined;

  async function fetchNew(): Promise<string> {
    const askedAtMs = now();
    try {
      const token = await fetch();
      held = toHeld(token, askedAtMs);
      issued.add({ text: token.text, validMs: token.toldMs }, askedAtMs);
      failures = 0;
      return token.text;
    } catch (error) {
      failure = toGatewayError(error);
      retryAtMs = now() + Math.min(backoffMsMin * 2 ** failures, backoffMsMax);
      failures += 1;
      onFailure(failure);
      throw failure;
    } finally {
      flight = undefined;
    }
  }

  function fetchOnce(): Promise<string> {
    flight ??= fetchNew();
    return flight;
  }

  return {
    /** Returns the tokens that an upstream may know and show. The list is another one when they change. */
    get known() {
      return issued.at(now());
    },
    /** Returns the present token; near its end a new one is fetched. Fails with CREDENTIAL_UNAVAILABLE. */
    take() {
      const nowMs = now();
      const mayAsk = failures === 0 || nowMs >= retryAtMs;
      if (held && nowMs < held.endsAtMs) {
        // The failure was reported, and is no concern of a call that has its token.
        if (nowMs >= held.refreshAtMs && mayAsk) fetchOnce().catch(() => undefined);
        return held.text;
      }
      if (flight || mayAsk) return fetchOnce();
      const retryAfterSeconds = Math.ceil((retryAtMs - nowMs) / 1000);
      throw new GatewayError(
        'CREDENTIAL_UNAVAILABLE',
        failure?.message ?? '',
        { retryAfterSeconds },
        failure?.cause,
      );
    },
    /**
     * Gives up a token that the upstream refused, so the next call gets a new one. The token stays if it is
     * new, or too many others are still valid.
     */
    refuse(token: string) {
      const nowMs = now();
      const isOld = held?.text === token && nowMs - held.fetchedAtMs >= ageMsMin;
      if (isOld && !issued.isFullAt(nowMs)) held = undefined;
    },
  };
}

function toHeld({ text, validMs }: AccessToken, fetchedAtMs: number) {
  const endsAtMs = fetchedAtMs + validMs - Math.min(marginMsMax, validMs * marginShare);
  return {
    text,
    fetchedAtMs,
    refreshAtMs: fetchedAtMs + validMs - Math.min(refreshMsMax, validMs * refreshShare),
    endsAtMs,
  };
}
