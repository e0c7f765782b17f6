import { randomUUID } from 'node:crypto';
import { validate } from '@readme/openapi-parser';
import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import { requestExamples } from '../../src/api/examples.ts';
import { apiRoutes } from '../../src/api/index.ts';
import { toOpenApi } from '../../src/api/open-api.ts';
import { problems } from '../../src/core/errors.ts';
import { conditionKeys } from '../../src/policy/schema.ts';
import { checkDescribed } from '../support/described-answers.ts';
import { startTestGateway } from '../support/gateway.ts';

const document = () => JSON.parse(JSON.stringify(toOpenApi(apiRoutes)));

t.test('the document is valid for two linters', async (t) => {
  const { valid, errors } = await new Validator().validate(document());
  t.ok(valid, JSON.stringify(errors));
  const linted = await validate(document());
  t.strictSame(linted, { valid: true, warnings: [], specification: 'OpenAPI' });
  const broken = document();
  broken.paths['/v1/scan'].post.parameters = [{ name: 'x' }];
  t.equal((await new Validator().validate(structuredClone(broken))).valid, false, 'they see what is broken');
  t.equal((await validate(broken)).valid, false);
});

t.test('it has servers, inbound routes and all errors', async (t) => {
  const { servers, paths, components, tags } = document();
  t.ok(servers.length > 0);
  t.ok(paths['/inbound/{prefix}/{path}'].delete);
  t.ok(tags.length > 5);
  const described = Object.values<{ content: Record<string, { examples?: object }> }>(
    components.responses,
  ).flatMap((it) => Object.keys(it.content['application/problem+json']?.examples ?? {}));
  t.strictSame(described.sort(), Object.keys(problems).sort());
  const ids = Object.values<Record<string, { operationId: string }>>(paths).flatMap((it) =>
    Object.values(it).map(({ operationId }) => operationId),
  );
  t.equal(new Set(ids).size, ids.length, 'each operation has an id of its own');
});

t.test('every request with a body has an example that is taken', async (t) => {
  const examples = new Set(Object.keys(requestExamples));
  for (const { method, path, body, described = body } of apiRoutes) {
    if (!body || !described) continue;
    const name = `${method} ${path.replace(/:(\w+)/g, '{$1}')}`;
    t.ok(examples.delete(name), `${name} has one`);
    for (const schema of [body, described]) {
      const { success, error } = schema.safeParse(requestExamples[name]);
      t.ok(success, `${name}: ${error}`);
    }
  }
  t.strictSame([...examples], [], 'and no other has one');
});

t.test('a gateway takes the examples, and those alone whom the document names', async (t) => {
  const gateway = await startTestGateway(t);
  const { key } = await gateway.mint({ permissions: ['scan', 'agents:write', 'keys:ephemeral', 'admin'] });
  for (const { method, path, body, takesForm, isForKeys, isForSecret } of apiRoutes) {
    const name = `${method} ${path.replace(/:(\w+)/g, '{$1}')}`;
    const there = path.replace(/:\w+/g, () => randomUUID());
    if (body && !takesForm) {
      const asked = isForKeys ? key : gateway.adminSecret;
      const { status } = await gateway.api(method, there, requestExamples[name], `Bearer ${asked}`);
      t.notOk([400, 415].includes(status), `${name}: ${status}`);
    }
    if (isForSecret)
      t.match(await gateway.api(method, there, undefined, `Bearer ${key}`), {
        status: 403,
        body: { detail: /admin secret/ },
      });
  }
});

t.test('policies are described to the last key of their rules', async (t) => {
  const { paths, components } = document();
  const { required, properties } =
    paths['/v1/policies/apply'].post.requestBody.content['application/yaml'].schema;
  t.strictSame(required, ['name', 'rules']);
  t.strictSame(properties.rules.items, { $ref: '#/components/schemas/Rule' });
  const { match, condition } = components.schemas.Rule.properties;
  t.ok(match.properties.tool_name);
  t.strictSame(
    conditionKeys.filter((it) => !(it in condition.properties)),
    [],
  );
});

t.test('an answer that the document does not describe fails a test', async (t) => {
  const contentType = 'application/json';
  const check = (method: string, path: string, status: number, body: unknown, type = contentType) =>
    checkDescribed(method, path, { status, contentType: type, body });
  t.doesNotThrow(() => check('GET', '/healthz', 200, { status: 'ok' }));
  t.doesNotThrow(() => check('GET', '/other', 200, 'what is no endpoint of the API'));
  const problem = { type: 'a', title: 'b', status: 404, detail: 'c', code: 'NOT_FOUND' };
  t.doesNotThrow(() => check('GET', '/v1/nothing', 404, problem, 'application/problem+json'));
  t.throws(() => check('GET', '/healthz', 200, { status: 'well' }), 'a value');
  t.throws(() => check('GET', '/healthz', 200, { status: 'ok', more: 1 }), 'a field');
  t.throws(() => check('GET', '/healthz', 201, { status: 'ok' }), 'a status');
  t.throws(() => check('GET', '/healthz', 200, { status: 'ok' }, 'text/plain'), 'a content type');
  t.throws(() => check('GET', '/v1/nothing', 404, { ...problem, code: 'ELSE' }, 'application/problem+json'));
});
