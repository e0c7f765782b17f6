import type { MaybePromise } from '../state/store.ts';
import { after } from '../util/maybe-promise.ts';
import { type ReadyCredential, toReadyCredential } from './injection.ts';
import { basicOf, type TokenClient } from './token-endpoint.ts';
import { createTokenSource, type TokenSource, type TokenSourceOptions } from './token-source.ts';

/** A credential that was opened. */
export interface HeldCredential {
  /** To be sent now. Fails with CREDENTIAL_UNAVAILABLE where it cannot be. */
  take(): MaybePromise<ReadyCredential>;
  /** Returns its secrets that an answer may show, whoever sent it: the same object until they change. */
  known(): Pick<ReadyCredential, 'secrets'> & ReadyCredential;
}

export const heldAsIs = (ready: ReadyCredential): HeldCredential => ({
  take: () => ready,
  known: () => ready,
});

/** One of which tokens are sent. Its own secret goes to the token endpoint alone. */
export function heldByToken(client: TokenClient, options: TokenSourceOptions): HeldCredential {
  const source = createTokenSource(options);
  const { clientId, proof } = client;
  // A private key is sent to nobody.
  const own =
    proof.method === 'private_key_jwt' ? [] : [proof.clientSecret, basicOf(clientId, proof.clientSecret)];
  /** The token that this source sent last: the newest known one may have been fetched on other terms. */
  let sent = '';
  let tokens: readonly string[] | undefined;
  let ready: ReadyCredential;

  /** Made anew when there is another token, to be sent or to be known. */
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
