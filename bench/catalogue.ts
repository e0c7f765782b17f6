import { join } from 'node:path';
import { loadCatalogue, type Request } from '../src/catalogue/catalogue.ts';
import { parseTarget } from '../src/core/target.ts';
import { isInOtherCharset, parseCallBody } from '../src/decision/facts/body-structure.ts';

/*
 * What it costs to understand a call, in microseconds. Run: node bench/catalogue.ts
 * Goals: a POST to an unknown host 1.5, creating a GitHub issue 4.
 */

const headers = [
  ...['Host', 'api.github.com', 'User-Agent', 'bench/1.0', 'Accept', 'application/json'],
  ...['Accept-Encoding', 'gzip, deflate, br', 'Content-Type', 'application/json', 'Content-Length', '64'],
  ...['Authorization', 'Bearer none', 'Connection', 'keep-alive', 'X-Request-Id', '0123456789'],
];

const structureOf = (contentType: string, body: string) => parseCallBody(contentType, Buffer.from(body));

function request(method: string, url: string, body: string, contentType = 'application/json'): Request {
  const bytes = Buffer.from(body);
  return {
    method,
    target: parseTarget(url),
    headers,
    contentType,
    bodyText: () => body,
    mentions: (text) => body?.includes(text) ?? false,
    isInOtherCharset: () => isInOtherCharset(contentType, bytes),
    bodyValue: () => structureOf(contentType, body),
    structureOf,
  };
}

const form = 'application/x-www-form-urlencoded';
const cases: Readonly<Record<string, Request>> = {
  'unknown host, POST': request('POST', 'https://hooks.summit.app/ingest/v1/events?source=agent', '{}'),
  'github create_issue': request('POST', 'https://api.github.com/repos/acme/app/issues', '{"title":"x"}'),
  'github unknown path': request('GET', 'https://api.github.com/repos/acme/app/new/123456', ''),
  'slack post_message': request(
    'POST',
    'https://slack.com/api/chat.postMessage',
    '{"channel":"#general","text":"hello"}',
  ),
  's3 put_object': request('PUT', 'https://acme-logs.s3.eu-west-1.amazonaws.com/a/b.txt', ''),
  'iam attach_user_policy': request(
    'POST',
    'https://iam.amazonaws.com/',
    'Action=AttachUserPolicy&UserName=x',
    form,
  ),
};

const catalogue = loadCatalogue(join(import.meta.dirname, '../config/tools'));
const rounds = 200_000;
const trials = 5;

for (const [name, call] of Object.entries(cases)) {
  let bestNs = Number.POSITIVE_INFINITY;
  for (let trial = 0; trial < trials; trial++) {
    const startNs = process.hrtime.bigint();
    for (let round = 0; round < rounds; round++) catalogue.understand(call);
    bestNs = Math.min(bestNs, Number(process.hrtime.bigint() - startNs) / rounds);
  }
  console.log(`${(bestNs / 1000).toFixed(2).padStart(7)} us  ${name}`);
}
