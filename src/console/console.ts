import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError, methodNotAllowed } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { fieldOf } from '../wire/http1/field.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { answerProblem } from '../wire/server/problem.ts';
import type { Asset } from './assets.ts';
import { createPageSource, type PagePlace, placeOfPage } from './page-source.ts';

/*
 * Serves the page of the console under /console/ from memory, as files that were built. The page gets what it
 * shows from /v1, with the session of whoever signed in. Nothing here needs a secret. Of a request it reads
 * only method, path, and the fields on caching and accepted content.
 */

/** Milliseconds that a request waits for a build. Then the browser is told to wait, and asks again. */
const patienceMs = 2_000;

/** Headers of all answers. There is no `unsafe-*`, and nothing comes from elsewhere. */
const headers: readonly string[] = [
  'Content-Security-Policy',
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'X-Content-Type-Options',
  'nosniff',
  'Cross-Origin-Opener-Policy',
  'same-origin',
  'Cross-Origin-Resource-Policy',
  'same-origin',
  'Referrer-Policy',
  'no-referrer',
  'X-Frame-Options',
  'DENY',
];

const root = '/console';

/** Tells whether `createConsole` answers a request. A browser's request for `/` is led to the console. */
export const isConsole = ({ target, fields }: Pick<Exchange, 'target' | 'fields'>): boolean =>
  /^\/console(?:[/?]|$)/.test(target) || (target === '/' && fieldOf(fields, 'accept').includes('text/html'));

export function createConsole(log: Log, place: PagePlace = placeOfPage()): (exchange: Exchange) => void {
  const source = createPageSource(place);

  async function answer(exchange: Exchange): Promise<void> {
    const [path = ''] = exchange.target.split('?', 1);
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') throw methodNotAllowed('GET, HEAD');
    // The location is relative, since a proxy may have put a prefix before it.
    if (path === '/') return send(exchange, 302, ['Location', 'console/'], noBody);
    if (path === root) return send(exchange, 308, ['Location', 'console/'], noBody);
    const name = path.slice(root.length + 1) || 'index.html';
    if (name === 'index.html') return answerIndex(exchange);
    const assets = source.last ?? (await source.current(Date.now()));
    const asset = assets.get(name);
    if (!asset) throw new GatewayError('NOT_FOUND', 'The console has no such file.');
    const isNamedByContent = name.startsWith('assets/');
    sendAsset(exchange, asset, isNamedByContent ? 'public, max-age=31536000, immutable' : 'no-cache');
  }

  async function answerIndex(exchange: Exchange): Promise<void> {
    const late = Symbol('late');
    const found = await Promise.race([source.current(Date.now()), sleep(patienceMs, late, { ref: false })]);
    if (typeof found === 'symbol') {
      const text = '<p>The console is being built. This page shows it when it is there.</p>';
      return send(exchange, 503, [...htmlFields, 'Refresh', '2', 'Retry-After', '2'], pageOf(text));
    }
    const index = found.get('index.html');
    if (index) sendAsset(exchange, index, 'no-cache');
  }

  return function serve(exchange) {
    answer(exchange).catch((error: unknown) => {
      if (error instanceof GatewayError) {
        answerProblem(exchange, error, headers);
        return;
      }
      log.error({ err: error }, 'the page of the console cannot be made');
      const reason = escaped(error instanceof Error ? error.message.slice(0, 4_000) : 'unknown');
      send(exchange, 500, htmlFields, pageOf(`<p>The console could not be built:</p><pre>${reason}</pre>`));
    });
  };
}

const noBody = Buffer.alloc(0);
const htmlFields: readonly string[] = [
  'Content-Type',
  'text/html; charset=utf-8',
  'Cache-Control',
  'no-store',
];

const pageOf = (text: string): Buffer =>
  Buffer.from(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Postern</title><h1>Postern</h1>${text}</html>\n`,
  );

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function sendAsset(exchange: Exchange, { type, plain, gzipped, etag }: Asset, cache: string): void {
  const fields = ['Cache-Control', cache, 'ETag', etag, 'Vary', 'Accept-Encoding'];
  const known = fieldOf(exchange.fields, 'if-none-match');
  if (known.split(',').some((it) => it.trim().replace(/^W\//, '') === etag)) {
    send(exchange, 304, fields, noBody);
    return;
  }
  const isCompressed = gzipped && /\bgzip\b(?!;\s*q=0(?:\.0*)?(?:,|$))/.test(acceptOf(exchange));
  const coding = isCompressed ? ['Content-Encoding', 'gzip'] : [];
  send(exchange, 200, ['Content-Type', type, ...fields, ...coding], isCompressed ? gzipped : plain);
}

const acceptOf = (exchange: Exchange): string => fieldOf(exchange.fields, 'accept-encoding').toLowerCase();

function send({ answer }: Exchange, status: number, fields: readonly string[], body: Buffer): void {
  if (answer.destroyed || answer.headersSent) return;
  const length = status === 304 ? [] : ['Content-Length', String(body.length)];
  answer.writeHead(status, [...headers, ...fields, ...length]);
  answer.end(body);
}
