import type { MaybePromise } from '../state/store.ts';
import { type ReadyCredential, toReadyCredential } from './injection.ts';
import { basicOf, type TokenClient } from './token-endpoint.ts';
import { createTokenSource, type TokenSource, type TokenSourceOptions } from './token-source.ts';

/** A credential that was opened. */
export interface HeldCredential {
  /** To be sent now. Fails with CREDENTIAL_UNAVAILABLE where it cannot be. */
  take(): MaybePromise<ReadyCredential>;
  /** What an answer may show of it, whoever has sent it. The same one as long as that is the same. */
  known(): Pick<ReadyCredential, 'secrets'> & ReadyCredential;
}

export const heldAsIs = (ready: ReadyCredential): HeldCredential => ({
  take: () => ready,
  known: () => ready,
});

/** One of which tokens are sent. Its own secret goes to the token endpoint alone. */
export function heldByToken(client: TokenClient, options: TokenSourceOptions): HeldCredential {
  const source = createTokenSource(options);
  const own = [client.clientSecret, basicOf(client)];
  let tokens: readonly string[] | undefined;
  let ready: ReadyCredential;

  /** Of the newest token; made anew when there is another one. */
  function current(): ReadyCredential {
    if (tokens !== source.known) {
      tokens = source.known;
      ready = toTokenCredential(source, tokens, own);
    }
    return ready;
  }

  return {
    take() {
      const token = source.take();
      return token instanceof Promise ? token.then(current) : current();
    },
    known: current,
  };
}

function toTokenCredential(
  source: TokenSource,
  tokens: readonly string[],
  own: readonly string[],
): ReadyCredential {
  const [token = '', ...older] = tokens;
  const { apply, secrets } = toReadyCredential({ type: 'bearer', value: token });
  return {
    apply,
    secrets: [...(token === '' ? [] : secrets), ...older, ...own],
    onStatus(status) {
      if (status === 401) source.refuse(token);
    },
  };
}
