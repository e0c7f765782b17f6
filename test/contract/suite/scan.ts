import { randomBytes, randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { awsKeyId, gitlabToken } from '../../support/secrets.ts';
import { type Lab, uuid } from './lab.ts';

const bands = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];
const ssn = (): string => ['536', '22', String(1000 + Math.floor(Math.random() * 8999))].join('-');

const databricksToken = (): string => ['dapi', randomBytes(16).toString('hex')].join('');

/** Resources: scan request, scan response, response scan. Endpoints: /v1/scan, /v1/scan/response. */
export async function scans(t: Test, lab: Lab): Promise<void> {
  await t.test('Resources, scan response: the fields that are always present', async (t) => {
    const { scan } = await lab.tenant('scanning');
    const { status, body } = await scan();
    t.equal(status, 200);
    t.match(body.decision, /^(ALLOW|DENY|SANITIZE|REQUIRE_APPROVAL)$/, 'decision');
    t.ok(body.risk_score >= 0 && body.risk_score <= 1, 'risk_score is a number from 0.0 to 1.0');
    t.ok(bands.includes(body.risk_band), 'risk_band');
    t.ok(Array.isArray(body.reason_codes), 'reason_codes');
    t.match(body.trace_id, uuid, 'trace_id');
    t.type(body.tool_name, 'string', 'tool_name');
    t.type(body.operation, 'string', 'operation');
    t.ok(Array.isArray(body.classifications), 'classifications');
    t.ok(Array.isArray(body.signals), 'signals');
    for (const it of body.signals) t.match(it, { engine: String, name: String, score: Number }, 'a signal');
    t.match(body, { explanation: Array, findings: Array, matched_rules: Array }, 'our additions');
    t.notOk('sanitized_body' in body, 'sanitized_body is absent unless the decision is SANITIZE');
    t.notOk('approval_id' in body, 'approval_id is absent unless the decision is REQUIRE_APPROVAL');
    t.notOk(
      'policy_id' in body || 'policy_name' in body,
      'policy_id and policy_name are absent without a policy',
    );
    t.equal(body.decision, 'ALLOW', 'a harmless call is allowed');
  });

  await t.test('Resources, scan response: the type of every field, and the band of the score', async (t) => {
    const { scan, apply } = await lab.tenant('actions');
    const bandsFrom = [0, 0.25, 0.5, 0.75];
    const isText = (it: unknown) => typeof it === 'string' && it !== '';
    const seen = new Set<string>();
    for (const action of ['ALLOW', 'DENY', 'SANITIZE', 'REQUIRE_APPROVAL']) {
      await apply([{ rule_id: 'r', action }]);
      for (const body of [{ a: 1 }, { a: awsKeyId() }, { a: `SSN ${ssn()}` }]) {
        const answer = (await scan({ agent_id: randomUUID(), body })).body;
        const name = `${action} of ${answer.classifications[0] ?? 'a harmless call'}`;
        t.equal(answer.decision, action, name);
        const band = bands[bandsFrom.filter((it) => it <= answer.risk_score).length - 1];
        t.equal(answer.risk_band, band, `${name}: ${answer.risk_score} is ${band}`);
        seen.add(answer.risk_band);
        for (const list of ['reason_codes', 'classifications', 'explanation'])
          t.ok(answer[list].every(isText), `${name}: ${list} are texts`);
        for (const it of answer.reason_codes) t.match(it, /^[A-Z0-9_]{1,64}$/, `${name}: reason ${it}`);
        for (const it of answer.signals) {
          t.ok(isText(it.engine) && isText(it.name) && typeof it.details === 'string', `${name}: a signal`);
          t.ok(it.score >= 0 && it.score <= 1, `${name}: its score`);
        }
        t.ok(isText(answer.tool_name) && isText(answer.operation), `${name}: tool_name and operation`);
        t.match(answer, { policy_id: uuid, policy_name: 'contract', trace_id: uuid }, `${name}: the policy`);
      }
    }
    t.ok(seen.size > 1, 'the calls were of several bands');
  });

  await t.test('Resources, scan request: required and optional fields', async (t) => {
    const { scan, api } = await lab.tenant('scanning');
    const accepted: Readonly<Record<string, object>> = {
      'body as an object': { body: { a: 1 } },
      'body as an array': { body: [1, 2] },
      'body as a string': { body: 'text' },
      'no body': { method: 'GET', body: undefined },
      headers: { headers: { 'X-Purpose': 'test' } },
      agent_name: { agent_name: 'a bot' },
      context: { context: 'the user asked for pencils' },
      'an unknown field': { colour: 'blue' },
      'any scheme://host': { url: 'message://team/general' },
      'a WebSocket': { method: 'GET', url: 'wss://api.partner.test/live', body: undefined },
    };
    for (const [name, fields] of Object.entries(accepted)) t.equal((await scan(fields)).status, 200, name);
    const runtimes =
      'langchain langgraph crewai openai_assistants mcp openclaw claude_code cursor browser_use computer_use custom my-own';
    for (const runtime_type of runtimes.split(' ')) {
      const { trace_id } = (await scan({ runtime_type, agent_name: 'a bot' })).body;
      t.match(
        await api('GET', `/v1/traces/${trace_id}`),
        { status: 200, body: { runtime_type, agent_name: 'a bot' } },
        `runtime_type ${runtime_type} and agent_name are recorded`,
      );
    }
    for (const method of ['post', 'PROPFIND']) {
      const { trace_id } = (await scan({ method })).body;
      const trace = await api('GET', `/v1/traces/${trace_id}`);
      t.equal(trace.body.method, method.toUpperCase(), `the verb ${method}`);
    }
    const refused: Readonly<Record<string, [fields: object, path: RegExp]>> = {
      'no method': [{ method: undefined }, /^method$/],
      'a method that is none': [{ method: 'G E T' }, /^method$/],
      'no url': [{ url: undefined }, /^url$/],
      'a url that is a number': [{ url: 7 }, /^url$/],
      'a relative url': [{ url: '/v1/items' }, /^url$/],
      'file:': [{ url: 'file:///etc/passwd' }, /^url$/],
      'data:': [{ url: 'data:text/plain,x' }, /^url$/],
      'javascript:': [{ url: 'javascript:alert(1)' }, /^url$/],
      'a malformed agent_id': [{ agent_id: 'me' }, /^agent_id$/],
      'headers that are a text': [{ headers: 'X: y' }, /^headers/],
      'a header with a line end': [{ headers: { x: 'a\r\nb: c' } }, /^headers/],
      'agent_name over 128': [{ agent_name: 'a'.repeat(129) }, /^agent_name$/],
      'runtime_type over 64': [{ runtime_type: 'a'.repeat(65) }, /^runtime_type$/],
      'context that is an object': [{ context: {} }, /^context$/],
    };
    for (const [name, [fields, path]] of Object.entries(refused)) {
      t.match(
        await scan(fields),
        { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } },
        name,
      );
    }
    for (const body of ['', '{', '[]', 'null', '"text"', '{"method":']) {
      t.match(
        await api('POST', '/v1/scan', body),
        { status: 400, body: { code: 'VALIDATION_FAILED' } },
        `body ${body}`,
      );
    }
  });

  await t.test('Resources, scan request: agent_id overrides the default agent of the key', async (t) => {
    const { scan, admin, agentId } = await lab.tenant('scanning');
    const other = randomUUID();
    const { body } = await scan({ agent_id: other, agent_name: 'other' });
    t.match(await admin('GET', `/v1/traces/${body.trace_id}`), { status: 200, body: { agent_id: other } });
    const own = await scan();
    t.match(await admin('GET', `/v1/traces/${own.body.trace_id}`), {
      status: 200,
      body: { agent_id: agentId },
    });
    t.match(await admin('GET', `/v1/agents/${other}`), { status: 200 }, 'an unknown agent is registered');
    const { agentId: foreign } = await lab.tenant('foreign');
    t.match(await scan({ agent_id: foreign }), {
      status: 403,
      body: { code: 'CROSS_TENANT', reason: 'CROSS_TENANT' },
    });
    const staged = randomUUID();
    await (await lab.tenant('scanning')).mint({ default_agent_id: staged, env_name: 'staging' });
    t.match(await scan({ agent_id: staged }), { status: 403, body: { code: 'CROSS_ENVIRONMENT' } });
    t.match(await scan({ env: 'staging' }), { status: 403, body: { code: 'CROSS_ENVIRONMENT' } });
    const closed = await lab.tenant('closed');
    t.match(await closed.scan({ agent_id: randomUUID() }), { status: 403, body: { code: 'FORBIDDEN' } });
  });

  await t.test('Resources, scan response: tool_name and operation', async (t) => {
    const { scan } = await lab.tenant('scanning');
    const cases: readonly [method: string, url: string, tool: string, operation: RegExp][] = [
      ['POST', 'https://slack.com/api/chat.postMessage', 'slack', /^post_message$/],
      ['POST', 'https://api.github.com/repos/acme/app/issues', 'github', /issue/],
      ['GET', 'https://api.github.com/orgs/acme', 'github', /^get_org$/],
      ['POST', 'https://api.openai.com/v1/chat/completions', 'openai', /./],
      ['POST', 'https://iam.amazonaws.com/?Action=CreateUser', 'aws', /^create_user$/],
    ];
    for (const [method, url, tool_name, operation] of cases) {
      const { body } = await scan({ method, url, body: method === 'GET' ? undefined : { text: 'x' } });
      t.match(body, { tool_name, operation }, url);
    }
    const { body } = await scan();
    t.match(body, { tool_name: /./, operation: /./ }, 'an unknown host is a generic proxy tool');
  });

  await t.test('Resources, scan response: classifications of every data class', async (t) => {
    const { scan } = await lab.tenant('scanning');
    const texts: Readonly<Record<string, string>> = {
      SECRETS: `deploy with ${awsKeyId()}`,
      PII: `her number: SSN ${ssn()}`,
      PHI: `MRN: 00${Math.floor(100_000 + Math.random() * 800_000)}`,
      INTERNAL: 'INTERNAL USE ONLY. Plans for the third quarter',
    };
    for (const [name, note] of Object.entries(texts)) {
      const { body } = await scan({ body: { note } });
      t.same(body.classifications, [name], name);
      t.match(
        body.findings[0],
        { class: name, kind: /./, confidence: /^(medium|high)$/, location: 'body:$.note' },
        `${name} is located`,
      );
    }
    t.same((await scan()).body.classifications, [], 'a harmless call has none');
    const both = await scan({ body: { a: texts['SECRETS'], b: texts['PII'] } });
    t.same([...both.body.classifications].sort(), ['PII', 'SECRETS'], 'several are listed');
    const example = ['AKIA', 'IOSFODNN7', 'EXAMPLE'].join('');
    t.same(
      (await scan({ body: { note: example } })).body.classifications,
      [],
      'a published example sets no class',
    );
  });

  await t.test(
    'What the service does 2: a secret is found wherever it is, and however it is dressed',
    async (t) => {
      const { scan } = await lab.tenant('scanning');
      const secret = awsKeyId();
      const places: Readonly<Record<string, [fields: object, location: RegExp]>> = {
        'in a nested field': [{ body: { a: { b: [secret] } } }, /^body:/],
        'in text': [{ body: `key ${secret}` }, /^body/],
        'in the query': [{ url: `https://api.partner.test/x?token=${secret}` }, /^query:token$/],
        'in the path': [{ url: `https://api.partner.test/${secret}/x` }, /^path$/],
        // Hosts have no case: a secret that needs none.
        'in a host label': [{ url: `https://${databricksToken()}.partner.test/` }, /^host$/],
        'in a header': [{ headers: { 'X-Note': secret } }, /^header:x-note$/i],
        'in base64': [{ body: { note: Buffer.from(`id ${secret}`).toString('base64') } }, /^body:/],
        'in base64url': [{ body: { note: Buffer.from(`id? ${secret}`).toString('base64url') } }, /^body:/],
        'in hex': [{ body: { note: Buffer.from(secret).toString('hex') } }, /^body:/],
        'percent-encoded': [
          { body: `note=${[...secret].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('')}` },
          /^body/,
        ],
        'in HTML entities': [
          { body: { note: [...secret].map((c) => `&#${c.charCodeAt(0)};`).join('') } },
          /^body:/,
        ],
        'with zero-width spaces': [{ body: { note: [...secret].join('\u200b') } }, /^body:/],
        'in full-width characters': [
          { body: { note: [...secret].map((c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)).join('') } },
          /^body:/,
        ],
      };
      for (const [name, [fields, location]] of Object.entries(places)) {
        const { body } = await scan(fields);
        t.match(body, { classifications: ['SECRETS'], findings: [{ location }] }, name);
        t.notMatch(
          JSON.stringify(body).replace(/"sanitized_body".*$/, ''),
          secret,
          `${name}: the answer does not tell it`,
        );
      }
    },
  );

  await t.test(
    'What the service does 2: a credential at home is no leak, elsewhere it is misdirected',
    async (t) => {
      const { scan } = await lab.tenant('scanning');
      const token = gitlabToken();
      const at = (host: string) =>
        scan({
          method: 'GET',
          body: undefined,
          url: `https://${host}/api/v4/user`,
          headers: { 'PRIVATE-TOKEN': token },
        });
      const home = (await at('gitlab.com')).body;
      t.notOk(home.reason_codes.includes('SECRETS'), 'at its own vendor it is used, not leaked');
      const away = (await at('api.partner.test')).body;
      t.ok(away.reason_codes.includes('SECRETS') && away.reason_codes.includes('SECRET_MISDIRECTED'));
    },
  );

  await t.test('Resources, response scan: request and result', async (t) => {
    const { scan, api } = await lab.tenant('responses');
    const { trace_id } = (await scan()).body;
    const post = (fields: object) =>
      api('POST', '/v1/scan/response', { trace_id, response_status: 200, ...fields });
    const clean = await post({ response_body: { ok: true } });
    t.match(clean, { status: 200, body: { data_classes: Array, fields_redacted_count: 0 } }, 'a clean body');
    t.same(clean.body.data_classes, []);
    t.ok(clean.body.content_fingerprint, 'content_fingerprint');
    const dirty = await post({ response_body: { id: awsKeyId(), ssn: `SSN ${ssn()}` } });
    t.same([...dirty.body.data_classes].sort(), ['PII', 'SECRETS'], 'data_classes');
    t.equal(dirty.body.fields_redacted_count, 2, 'fields_redacted_count');
    const text = await post({ response_body: `the key is ${awsKeyId()}` });
    t.match(text, { status: 200, body: { data_classes: ['SECRETS'] } }, 'response_body may be a string');
    const again = await post({ response_body: { ok: true } });
    t.equal(
      again.body.content_fingerprint,
      clean.body.content_fingerprint,
      'the same content, the same fingerprint',
    );
    t.not(dirty.body.content_fingerprint, clean.body.content_fingerprint, 'other content, another one');
    t.match(await post({ trace_id: randomUUID(), response_body: 'x' }), {
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
    const foreign = (await (await lab.tenant('foreign')).scan()).body.trace_id;
    t.match(await post({ trace_id: foreign, response_body: 'x' }), {
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
    t.match(dirty.body, { content_fingerprint: /^[\x21-\x7e]{16,128}$/ }, 'content_fingerprint is a text');
    t.notMatch(JSON.stringify(text.body), /AKIA/, 'the result does not tell what was found');
    const kept = (await api('GET', `/v1/traces/${trace_id}`)).body.response_scans;
    t.equal(kept?.length, 4, 'several for one trace are kept with it');
    const refused: Readonly<Record<string, [fields: object, path: RegExp]>> = {
      'a trace_id that is none': [{ trace_id: 'x', response_body: 'x' }, /^trace_id$/],
      'a status of 99': [{ response_body: 'x', response_status: 99 }, /^response_status$/],
      'a status of 600': [{ response_body: 'x', response_status: 600 }, /^response_status$/],
      'a status that is a text': [{ response_body: 'x', response_status: 'ok' }, /^response_status$/],
    };
    for (const [name, [fields, path]] of Object.entries(refused)) {
      t.match(
        await post(fields),
        { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } },
        name,
      );
    }
    const used = (await api('GET', '/v1/usage')).body.scans_used;
    await post({ response_body: 'x' });
    t.equal((await api('GET', '/v1/usage')).body.scans_used, used, 'it is not counted');
  });
}
