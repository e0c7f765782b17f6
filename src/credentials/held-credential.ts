import type { MaybePromise } from '../state/store.ts';
import { after } from '../util/maybe-promise.ts';
import { type ReadyCredential, toReadyCredential } from './injection.ts';
import { basicOf, type TokenClient } from './token-endpoint.ts';
import { createTokenSource, type TokenSource, type TokenSourceOptions } from './token-source.ts';

/** A credential that was opened. */
export interface HeldCredential {
  /** Returns the credential to be sent now. Fails with CREDENTIAL_UNAVAILABLE where it cannot be sent. */
  take(): MaybePromise<ReadyCredential>;
  /**
   * Returns the secrets that an answer may show, whoever sent them. The object is the same until they change.
   */
  known(): Pick<ReadyCredential, 'secrets'> & ReadyCredential;
}

export const heldAsIs = (ready: ReadyCredential): HeldCredential => ({
  take: () => ready,
  known: () => ready,
});

/** Creates the held credential that is sent as tokens. Its own secret goes to the token endpoint alone. */
export function heldByToken(client: TokenClient, options: TokenSourceOptions): HeldCredential {
  const source = createTokenSource(options);
  const { clientId, proof } = client;
  // A private key is sent to nobody, so no answer can show it.
  const own =
    proof.method === 'private_key_jwt' ? [] : [proof.clientSecret, basicOf(clientId, proof.clientSecret)];
  /** The token that this source sent last. The newest known one may have been fetched on other terms. */
  let sent = '';
  let tokens: readonly string[] | undefined;
  let ready: ReadyCredential;

  /** Returns the credential with a token. It is made anew when the token or the known tokens have changed. */
  function readyWith(token: string): ReadyCredential {
    const { known } = source;
    if (token !== sent || known !== tokens) {
      sent = token;
      tokens = known;
      ready = toTokenCredential(source, token, [...known, ...own]);
    }
    return ready;
  }

  return {
    take: () => after(source.take(), readyWith),
    known: () => readyWith(sent),
  };
}

function toTokenCredential(source: TokenSource, token: string, known: readonly string[]): ReadyCredential {
  const { apply, secrets } = toReadyCredential({ type: 'bearer', value: token });
  return {
    apply,
    secrets: [...new Set([...(token === '' ? [] : secrets), ...known])],
    onStatus(status) {
      if (status === 401) source.refuse(token);
    },
  };
}
