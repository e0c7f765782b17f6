import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import findMyWay from 'find-my-way';
import { apiRoutes } from '../../src/api/index.ts';
import { toOpenApi } from '../../src/api/open-api.ts';

/*
 * Checks answers of the control plane against the OpenAPI document: a status that an endpoint does not name, a content type, a field or a
 * value that is not described is a mistake of either. `apiClient` asks for every answer that a test gets.
 */

type Json = Record<string, unknown>;
interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, unknown>>;
}
type Operation = { readonly responses: Readonly<Record<string, Response>> };

interface Description {
  find(method: string, path: string): string | undefined;
  responseOf(template: string, method: string, status: number): string | undefined;
  validator(response: string, contentType: string): ValidateFunction | undefined;
}

let description: Description | undefined;

/** Parts of a JSON pointer within a URI (RFC 6901, 6). */
const escaped = (text: string): string =>
  encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));
const pointer = (...names: readonly (string | number)[]): string =>
  names.map((it) => `/${escaped(String(it))}`).join('');

/** Statuses of what the server says before it knows the endpoint, or of what it met on the way. */
const anywhere = new Set([405, 417, 421, 431, 502, 504]);

function describe(): Description {
  const document = JSON.parse(JSON.stringify(toOpenApi(apiRoutes)));
  const { paths } = document as { paths: Record<string, Record<string, Operation>> };
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  addFormats.default(ajv);
  ajv.addSchema(document as Json, 'api');
  const router = findMyWay({ maxParamLength: 512, ignoreTrailingSlash: true });
  for (const { method, path } of apiRoutes)
    router.on(method, path, () => undefined, path.replace(/:(\w+)/g, '{$1}'));
  return {
    find: (method, path) => router.find(method as 'GET', path)?.store as string | undefined,
    responseOf(template, method, status) {
      const { responses = {} } = paths[template]?.[method.toLowerCase()] ?? {};
      const name = responses[status] ? status : anywhere.has(status) ? 'default' : undefined;
      if (name === undefined) return undefined;
      return (
        responses[name]?.$ref?.slice(1) ?? pointer('paths', template, method.toLowerCase(), 'responses', name)
      );
    },
    validator(response, contentType) {
      const at = response
        .split('/')
        .slice(1)
        .map((it) => decodeURIComponent(it).replaceAll('~1', '/').replaceAll('~0', '~'));
      const found = at.reduce<unknown>((value, name) => (value as Json)[name], document) as Response;
      if (!found.content?.[contentType]) return undefined;
      return ajv.getSchema(`api#${response}${pointer('content', contentType, 'schema')}`) as ValidateFunction;
    },
  };
}

export interface Answered {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: unknown;
}

/** Throws where the answer to a request is not what the document says. */
export function checkDescribed(method: string, url: string, { status, contentType, body }: Answered): void {
  const [path = ''] = url.split('?', 1);
  if (!path.startsWith('/v1') && !path.endsWith('z')) return;
  description ??= describe();
  const where = `${method} ${path} ${status}`;
  const template = description.find(method, path);
  const response =
    template === undefined
      ? '/components/responses/Problem'
      : description.responseOf(template, method, status);
  if (response === undefined) throw new Error(`${where}: the document does not name this status`);
  if (body === undefined) return;
  const validate = description.validator(response, contentType ?? '');
  if (!validate) throw new Error(`${where}: the document does not name ${contentType}`);
  if (!validate(body))
    throw new Error(
      `${where}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(body).slice(0, 2_000)}`,
    );
}
