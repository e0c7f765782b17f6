import { GatewayError, type ProblemCode, problems, toProblem } from '../core/errors.ts';
import type { Route } from './route.ts';

/* The OpenAPI document shows failures as one response for each status, with the codes as examples. */

type Json = Record<string, unknown>;

const codes = Object.keys(problems) as ProblemCode[];
const statuses = [...new Set(codes.map((it) => problems[it].status))].sort((a, b) => a - b);

const nameOf = (status: number): string => `Problem${status}`;

/** All failures by name, for `components.responses`. */
export const problemResponses: Json = Object.fromEntries(
  statuses.map((status) => {
    const own = codes.filter((it) => problems[it].status === status);
    const examples = own.map((code) => [
      code,
      { value: toProblem(new GatewayError(code, 'Says what to change.')) },
    ]);
    const content = {
      schema: { $ref: '#/components/schemas/Problem' },
      examples: Object.fromEntries(examples),
    };
    const description = own.map((it) => `${it}: ${problems[it].title}`).join('; ');
    return [nameOf(status), { description, content: { 'application/problem+json': content } }];
  }),
);

/** Returns an endpoint's failures by status. `default` is any other, or one before the endpoint is known. */
export function problemsOf({ method, path, access, body, answer: _, ...route }: Route): Json {
  // Slack's requests are signed; their endpoint is public and checks the signature itself.
  const isAsked = access !== 'public' || body !== undefined;
  const named: Json = {};
  const add = (...its: readonly number[]): void => {
    for (const it of its) named[it] = { $ref: `#/components/responses/${nameOf(it)}` };
  };
  add(400, 500, 503);
  if (isAsked || path.includes(':')) add(404);
  if (isAsked) add(401, 403, 429);
  if (isAsked && method !== 'GET') add(409);
  if (body) add(413, 415);
  if (route.tag === 'notifications' || route.tag === 'feeds') add(502, 504);
  return { ...named, default: { $ref: '#/components/responses/Problem' } };
}

export const problemContent: Json = {
  'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
};

export const anyProblem: Json = { description: 'A problem (RFC 9457)', content: problemContent };
