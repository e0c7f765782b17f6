import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { text as readAll } from 'node:stream/consumers';

export interface CliRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

interface Incoming extends AsyncIterable<Uint8Array> {
  readonly status: number;
}

/**
 * Sends one request straight to where the URL says; resolves with the head of the answer. It follows no redirect, and it never takes the proxy
 * that a shell exports for its agents, as `fetch` does under NODE_USE_ENV_PROXY: an operator's secret is not for the gate to read.
 */
export async function send(url: URL, { method, headers = {}, body, signal }: CliRequest): Promise<Incoming> {
  const request = url.protocol === 'https:' ? tlsRequest : plainRequest;
  const { promise, resolve, reject } = Promise.withResolvers<Incoming>();
  // An agent of its own: the one that all share has the proxy of the environment.
  const sent = request(url, { method, headers, signal, agent: false }, (response) =>
    resolve(Object.assign(response, { status: response.statusCode ?? 0 })),
  );
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

/** Rejects where the answer has more than `bytesMax`. */
export async function readAnswerText(incoming: Incoming, bytesMax: number): Promise<string> {
  async function* bounded() {
    let bytes = 0;
    for await (const chunk of incoming) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new Error('the answer is too large');
      yield chunk;
    }
  }
  return readAll(bounded());
}
