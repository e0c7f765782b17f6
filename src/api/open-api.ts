import { z } from 'zod';
import { problems } from '../core/errors.ts';
import { sessionCookie } from '../core/session-cookie.ts';
import { requestExamples } from './examples.ts';
import { inboundOperations, inboundPath, inboundTag } from './inbound-described.ts';
import { anyProblem, problemContent, problemResponses, problemsOf } from './problem-answers.ts';
import { formType } from './request-body.ts';
import type { Route } from './route.ts';
import { csrfHeader } from './session/cookie.ts';

/*
 * The OpenAPI 3.1 document of the control plane, made of the routes and their schemas alone. Schemas with an
 * id stand once, under `components`. A schema has two forms, for requests and for answers, which differ in
 * defaults and in what is parsed.
 */

type Json = Record<string, unknown>;

const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(problems) },
    reason: { type: 'string', description: 'On 403 and 429: the same as code' },
    trace_id: { type: 'string', format: 'uuid' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: { path: { type: 'string' }, message: { type: 'string' } },
      },
    },
    actual_bytes: { type: 'integer' },
    limit_bytes: { type: 'integer' },
  },
};

/** Schemas by their id. */
type Named = Record<string, Json>;

export function toOpenApi(routes: readonly Route[]): Json {
  const paths: Record<string, Json> = {};
  const named: Named = { Problem: problemSchema };
  for (const route of routes) {
    const path = templateOf(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: toOperation(route, named) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postern',
      version: '1',
      description: 'The control plane of the egress gateway.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      { url: '/', description: 'The daemon that serves this document' },
      { url: 'http://127.0.0.1:8081', description: 'The control listener by default' },
    ],
    tags: [...new Set([...routes.map((it) => it.tag), inboundTag])].map((name) => ({ name })),
    paths: { ...paths, [inboundPath]: inboundOperations },
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key, iv_live_… or iv_eph_…' },
        adminSecret: { type: 'http', scheme: 'bearer', description: 'The admin secret of the deployment' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookie,
          description: `A session of the console; _ and eight digits of the deployment follow, and __Host- stands before it with TLS. All but GET also need ${csrfHeader}`,
        },
      },
      schemas: named,
      responses: { ...problemResponses, Problem: anyProblem },
    },
  };
}

function toOperation(route: Route, named: Named): Json {
  const {
    tag,
    summary,
    access,
    status = 200,
    body,
    described = body,
    answer,
    answerTypes = ['application/json'],
  } = route;
  const isPublic = access === 'public';
  return {
    operationId: `${route.method.toLowerCase()}${route.path.replace(/[^A-Za-z0-9]+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: [tag],
    summary,
    security: isPublic ? [] : securityOf(route),
    ...(isPublic ? {} : { 'x-permission': permissionOf(route) }),
    parameters: parametersOf(route, named),
    ...(described
      ? {
          requestBody: {
            required: !route.isBodyOptional,
            content: contentOf(toSchema(described, 'input', named), typesOf(route), exampleOf(route)),
          },
        }
      : {}),
    responses: {
      [status]: {
        description: 'Done',
        ...(status === 204 ? {} : { content: contentOf(toSchema(answer, 'output', named), answerTypes) }),
      },
      ...problemsOf(route),
      ...otherAnswer(route, toSchema(answer, 'output', named)),
    },
  };
}

const securityOf = ({ access, isForKeys, isForSecret }: Route): readonly Json[] => [
  ...(access === 'session' || isForSecret ? [] : [{ key: [] }]),
  ...(access === 'session' || isForKeys ? [] : [{ adminSecret: [] }]),
  { session: [] },
];

const typesOf = ({ takesForm, takesYaml }: Route): readonly string[] =>
  takesForm ? [formType] : takesYaml ? ['application/json', 'application/yaml'] : ['application/json'];

const contentOf = (schema: Json, types: readonly string[], example?: unknown): Json =>
  Object.fromEntries(types.map((type) => [type, example === undefined ? { schema } : { schema, example }]));

const otherAnswer = ({ otherStatus }: Route, schema: Json): Json =>
  otherStatus === undefined
    ? {}
    : {
        [otherStatus]: {
          description: otherStatus === 503 ? 'The same, where something is wrong' : 'It was there already',
          content: {
            ...contentOf(schema, ['application/json']),
            // A daemon that is still starting answers with a problem.
            ...(otherStatus === 503 ? problemContent : {}),
          },
        },
      };

const exampleOf = ({ method, path }: Route): unknown => requestExamples[`${method} ${templateOf(path)}`];

/** Returns the path with its parameters as OpenAPI writes them. */
const templateOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

/** Returns the permissions of which a key needs one. The admin secret needs none. */
function permissionOf({ access, isForSecret }: Route): readonly string[] {
  if (isForSecret) return [];
  if (typeof access !== 'string') return access;
  if (access === 'key' || access === 'session') return [];
  return [access === 'secret' ? 'admin' : access === 'call' ? 'scan' : access];
}

function parametersOf({ path, query, access, isForKeys }: Route, named: Named): Json[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const schema = query ? toSchema(query, 'input', named) : {};
  const properties = (schema['properties'] ?? {}) as Record<string, Json>;
  const tenant =
    access === 'public' || access === 'session' || isForKeys ? {} : { tenant_id: tenantParameter };
  const inQuery = Object.entries({ ...properties, ...tenant }).map(([name, it]) => ({
    name,
    in: 'query',
    required: false,
    schema: it,
  }));
  return [...inPath, ...inQuery];
}

const tenantParameter = {
  type: 'string',
  description: 'With the admin secret: the tenant to act for; may be left out where there is only one',
};

function toSchema(schema: z.ZodType, io: 'input' | 'output', named: Named): Json {
  const options = { io, unrepresentable: 'any', reused: 'inline' } as const;
  const text = JSON.stringify(z.toJSONSchema(schema, options)).replaceAll(
    '"#/$defs/',
    '"#/components/schemas/',
  );
  const { $schema: _, $defs = {}, id, ...rest } = JSON.parse(text) as Json & { $defs?: Named; id?: string };
  for (const [name, { id: __, ...definition }] of Object.entries($defs)) named[name] = definition;
  if (id === undefined) return rest;
  named[id] = rest;
  return { $ref: `#/components/schemas/${id}` };
}
