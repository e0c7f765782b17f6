import { apiRoutes } from '../src/api/index.ts';
import { toOpenApi } from '../src/api/open-api.ts';
import { defaultText, type Schema, typeText } from './schema-text.ts';
import { wrapLines } from './wrap.ts';

/* Writes api.md from the OpenAPI document that the control plane serves. */

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Answer {
  readonly content?: Content;
}

interface Operation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly 'x-permission'?: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Answer>>;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const intro = `# API reference

Every endpoint of the control plane, by default at \`http://127.0.0.1:8081\`.
This page is made by \`node docs/generate.ts\` from the OpenAPI document that the daemon serves.
Programs read it at \`GET /v1/openapi.json\`.

- **Authentication**: \`Authorization: Bearer KEY\`, with an API key (\`iv_live_…\`, \`iv_eph_…\`) or the admin secret. Each endpoint names the permissions of which a key needs one. The admin secret has all permissions. Browsers send the cookie of [a session](administration/console.md) instead, and with all but GET the header \`x-postern-csrf\`.
- **Tenant**: a key acts for its tenant. The admin secret names one by \`tenant_id\`, in the query or in the body, unless there is only one.
- **Errors** are problems (RFC 9457, \`application/problem+json\`) with a stable \`code\`: [policy reference](policy-reference.md#errors) lists them.
- **Lists** answer \`{ items, next_cursor }\`; \`cursor\` in the query goes on from there.
- **Fields** that are marked with * are required in a request, and always there in an answer. Those that an endpoint does not know are ignored, and \`X-Service-Ignored\` of the answer names the first ten.
`;

/** How deep objects inside of objects are shown. */
const depthMax = 4;

function fieldsOf(schema: Schema, depth = 0): string[] {
  if (depth > depthMax) return [];
  const { properties = {}, required = [], anyOf, items } = schema;
  const own = Object.entries(properties).flatMap(([name, it]) => {
    const fallback = defaultText(it);
    const mark = required.includes(name) ? '*' : '';
    const about = `${typeText(it)}${fallback ? `; default ${fallback}` : ''}`;
    const meaning = it.description ? `: ${it.description}` : '';
    return [`${'  '.repeat(depth)}- \`${name}\`${mark} (${about})${meaning}`, ...fieldsOf(it, depth + 1)];
  });
  const others = [...(anyOf ?? []), ...(items ? [items] : [])].flatMap((it) => fieldsOf(it, depth));
  return [...own, ...new Set(others)];
}

function accessOf({ security, 'x-permission': permissions }: Operation): string {
  if (!permissions) return 'Needs no key.';
  const forSecret = security.some((it) => 'adminSecret' in it);
  if (!security.some((it) => 'key' in it))
    return forSecret ? 'Needs the admin secret.' : 'Needs a session of the console.';
  const key =
    permissions.length > 0 ? `a key with ${permissions.map((it) => `\`${it}\``).join(' or ')}` : 'any key';
  return `Needs ${key}${forSecret ? ', or the admin secret' : ''}.`;
}

const schemaOf = (content: Content): Schema => Object.values(content)[0]?.schema ?? {};
const typesOf = (content: Content): string =>
  Object.keys(content)
    .map((it) => `\`${it}\``)
    .join(', ');

/** A schema with a name stands in a section of its own. */
const shapeOf = (title: string, schema: Schema): string[] => {
  const fields = fieldsOf(schema);
  const type = schema.$ref || fields.length === 0 ? ` ${typeText(schema)}` : '';
  return [`${title}:${type}`, ...(fields.length > 0 ? ['', ...fields] : []), ''];
};

/** Tells whether an answer is what was asked for, which `GET /readyz` also answers beside a failure. */
const isNoFailure = ([status, { content = {} }]: [string, Answer]): boolean =>
  status.startsWith('2') || 'application/json' in content;

function sectionOf(method: string, path: string, operation: Operation): string[] {
  const { summary, parameters, requestBody, responses } = operation;
  const query = parameters.filter((it) => it.in === 'query');
  const properties = Object.fromEntries(query.map(({ name, schema }) => [name, schema]));
  const answers = Object.entries(responses).filter(isNoFailure);
  const status = answers.map(([it]) => it).join(' or ');
  const [[, answer] = []] = answers;
  return [
    `### ${method.toUpperCase()} ${path}`,
    '',
    `${summary}. ${accessOf(operation)}`,
    '',
    ...(query.length > 0 ? shapeOf('Query', { properties }) : []),
    ...(requestBody
      ? shapeOf(
          `Body${requestBody.required ? '' : ' (optional)'}, ${typesOf(requestBody.content)}`,
          schemaOf(requestBody.content),
        )
      : []),
    ...(answer?.content
      ? shapeOf(`Answer ${status}, ${typesOf(answer.content)}`, schemaOf(answer.content))
      : [`Answer ${status}, empty.`, '']),
  ];
}

/** The whole page. */
export function apiDocument(): string {
  const { paths, components } = toOpenApi(apiRoutes) as unknown as OpenApi;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const tags = Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '');
  const sections = [...tags].flatMap(([tag, list]) => [
    `## ${tag}`,
    '',
    ...list.flatMap(({ method, path, operation }) => sectionOf(method, path, operation)),
  ]);
  const objects = Object.entries(components.schemas).flatMap(([name, schema]) => [
    `### ${name}`,
    '',
    ...fieldsOf(schema),
    '',
  ]);
  return wrapLines(`${[intro, ...sections, '## objects', '', ...objects].join('\n').trimEnd()}\n`);
}
