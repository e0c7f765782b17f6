/* Describes inbound routes for the OpenAPI document. They are no endpoints: an upstream answers them. */

export const inboundPath = '/inbound/{prefix}/{path}';
export const inboundTag = 'inbound';

const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const;
const statuses = [400, 401, 403, 404, 405, 413, 429, 500, 502, 503, 504];

const parameter = (name: string, description: string): object => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
});

const operationOf = (method: string): object => ({
  operationId: `${method}Inbound`,
  tags: [inboundTag],
  summary: 'A call to the upstream of an inbound route, judged like any other',
  security: [{ key: [] }, {}],
  'x-permission': ['scan'],
  parameters: [
    parameter('prefix', 'The prefix of the route'),
    parameter('path', 'The path at the upstream; it may have slashes, and a query goes with it'),
  ],
  ...(method === 'post' || method === 'put' || method === 'patch'
    ? { requestBody: { description: 'As the upstream wants it', content: { '*/*': { schema: {} } } } }
    : {}),
  responses: {
    '2XX': { description: 'What the upstream answers', content: { '*/*': { schema: {} } } },
    ...Object.fromEntries(statuses.map((it) => [it, { $ref: `#/components/responses/Problem${it}` }])),
    default: { $ref: '#/components/responses/Problem' },
  },
});

/** Operations of `inboundPath` by method. OpenAPI cannot say that the path may have slashes. */
export const inboundOperations: Record<string, object> = Object.fromEntries(
  methods.map((it) => [it, operationOf(it)]),
);
