import t from 'tap';
import { parseTarget } from '../../../src/core/target.ts';
import { readingsOf } from '../../../src/core/url-readings.ts';
import { toolsKnownTo } from '../../../src/decision/trace/known-names.ts';
import type { KnownNames } from '../../../src/policy/index.ts';
import { compileUrlPattern } from '../../../src/policy/match/url-pattern.ts';
import { validateDocument, validatePolicy } from '../../../src/policy/validate.ts';
import { urlPatternWarning } from '../../../src/policy/warnings/url-warnings.ts';

/* What is accepted and yet may not do what its author thinks: that a warning comes, and that it does not where all is well. */

const known: KnownNames = {
  environments: ['production', 'staging'],
  tenants: ['acme'],
  budgets: ['llm'],
  channelKinds: ['slack'],
  tools: toolsKnownTo(),
  detectors: ['payment-card', 'iban'],
};
const minimal = { rule_id: 'a', action: 'DENY' };
const withRule = (rule: object) => ({ name: 'p', rules: [{ ...minimal, ...rule }] });
const withMatch = (match: object) => withRule({ match });

function warningsOf(value: unknown, names = known): readonly string[] {
  const validation = validatePolicy(value, names);
  if (!validation.ok) throw new Error(JSON.stringify(validation.errors));
  return validation.warnings;
}

t.test('names that nothing has are warned of, with the nearest that something has', async (t) => {
  const rows: [value: object, warning: string][] = [
    [
      { ...withRule({}), env_nmae: 'x' },
      'env_nmae is not a field of a policy and was ignored; did you mean env_name?',
    ],
    [
      withRule({ condition: { daily_budget_exceeded: 'lmm' } }),
      'rule a: there is no budget lmm; did you mean llm?; the condition is false',
    ],
    [
      withRule({ condition: { has_detector: ['iban*', 'payment-cart'] } }),
      'rule a: there is no detector payment-cart; did you mean payment-card?; it never finds anything',
    ],
    [withRule({ escalate_to: 'pager' }), 'rule a: there is no channel of the kind pager; nobody is notified'],
    [withMatch({ tool_name: 'githb' }), 'rule a: there is no tool githb; did you mean github?'],
    [withMatch({ tool_names: ['github', 'backstage'] }), 'rule a: there is no tool backstage'],
    [
      withMatch({ tool_name: 'git*' }),
      'rule a: there is no tool git*; names are compared as they stand, without wildcards',
    ],
    [
      withMatch({ tool_name: 'slack', operations: ['post_mesage'] }),
      'rule a: the catalogue has no operation post_mesage of slack; did you mean post_message?',
    ],
    [
      withMatch({ tool_names: ['slack', 'openai'], operations: ['merge_pr'] }),
      'rule a: the catalogue has no operation merge_pr of slack, openai',
    ],
    [
      withMatch({ tool_name: 'github', operations: ['mergepr'] }),
      'rule a: the catalogue has no operation mergepr of github; did you mean merge_pr?',
    ],
    [
      withMatch({ operations: ['create_isue'] }),
      'rule a: the catalogue has no operation create_isue; did you mean create_issue?',
    ],
    [
      withMatch({ operations: ['create_*'] }),
      'rule a: the catalogue has no operation create_*; names are compared as they stand, without wildcards',
    ],
    [
      withMatch({ tool_name: 'github', operations: ['category:secretss'] }),
      'rule a: the catalogue has no category secretss of github; did you mean secrets?',
    ],
    [
      withMatch({ operations: ['category:inferense'] }),
      'rule a: the catalogue has no category inferense; did you mean inference?',
    ],
    [
      withMatch({ tool_name: 'aws', org_patterns: ['acme'] }),
      'rule a: org_patterns never matches: no call of aws tells its org',
    ],
    [
      withMatch({ tool_names: ['github', 'slack'], aws_tags: { env: 'prod' } }),
      'rule a: aws_tags never matches: no call of github, slack tells its tags',
    ],
    [
      withMatch({ tool_name: 'custom_proxy', principal_patterns: ['@acme.com'] }),
      'rule a: principal_patterns never matches: no call of custom_proxy tells its principals',
    ],
    [withMatch({ tool_name: 'x'.repeat(100) }), `rule a: there is no tool ${'x'.repeat(60)}…`],
  ];
  for (const [value, warning] of rows) t.strictSame(warningsOf(value), [warning]);
  for (const [value, warning] of rows.slice(1))
    t.strictSame(warningsOf(value, {}), [], `unknown where nothing is known: ${warning}`);
});

t.test('names that something has, or may have, are not', async (t) => {
  const values = [
    { ...withRule({}), tenant_id: 'acme' },
    withRule({ condition: { daily_budget_exceeded: 'llm' } }),
    withRule({ escalate_to: 'slack' }),
    withMatch({ tool_names: ['github', 'aws', 'custom_proxy', 'a2a'] }),
    withMatch({
      tool_name: 'slack',
      operations: ['post_message', 'category:messages', 'category:other', '*'],
    }),
    withMatch({ tool_name: 'slack', operations: ['http_post', 'category:http', 'POST:/api/{id}'] }),
    withMatch({ tool_name: 'custom_proxy', operations: ['http_get', 'mcp', 'category:http'] }),
    withMatch({ tool_name: 'a2a', operations: ['message/send', 'category:messaging'] }),
    withMatch({ operations: ['method:POST', 'merge_pr', 'post_message'] }),
    // Actions of AWS and fields of GraphQL bear names that no catalogue lists.
    withMatch({ tool_name: 'aws', operations: ['terminate_instances', 'disable_key', 'category:ecs'] }),
    withMatch({ tool_name: 'github', operations: ['add_star', 'category:graphql'] }),
    withMatch({ operations: ['start_pipeline_execution', 'category:codepipeline'] }),
    withMatch({ tool_name: 'github', org_patterns: ['acme'], repo_patterns: ['acme/*'] }),
    withMatch({
      tool_name: 'aws',
      region_patterns: ['eu-*'],
      account_patterns: ['1*'],
      aws_tags: { a: 'b' },
    }),
    withMatch({
      tool_names: ['aws', 'slack'],
      channel_patterns: ['#ops'],
      principal_patterns: ['@acme.com'],
    }),
    withMatch({ org_patterns: ['acme'], aws_tags: { env: 'prod' } }),
  ];
  for (const value of values) t.strictSame(warningsOf(value), [], JSON.stringify(value));
});

t.test('the tenants of a file are those of the configuration', async (t) => {
  const document = (tenants: string[]) => validateDocument({ ...withRule({}), tenants }, known);
  t.match(document(['acme', 'acmee']), {
    ok: true,
    warnings: ['the configuration has no tenant acmee; did you mean acme?'],
  });
  t.match(document(['acme']), { ok: true, warnings: [] });
});

t.test('rules that never hold, or hold for more than they seem to', async (t) => {
  const outside = (start: string, end: string) => ({ time_of_day_outside: { start, end } });
  const rows: [rule: object, warning: string | undefined][] = [
    [
      { match: { tool_name: 'aws', tool_names: ['github'] } },
      'never holds: its tool_name is none of its tool_names',
    ],
    [{ match: { tool_name: 'aws', tool_names: ['github', 'aws'] } }, undefined],
    [{ condition: { risk_score_gt: 1 } }, 'never holds: risk_score_gt: no risk score is above 1'],
    [{ condition: { risk_score_gt: 0.99 } }, undefined],
    [{ condition: { trust_score_lt: 0 } }, 'never holds: trust_score_lt: no trust is below 0'],
    [{ condition: { trust_score_lt: true } }, undefined],
    [
      { condition: outside('00:00', '24:00') },
      'never holds: time_of_day_outside: nothing is outside 00:00 to 24:00',
    ],
    [{ condition: outside('00:00', '23:59') }, undefined],
    [
      { incident_severity: 'HIGH' },
      'incident_severity has no effect on DENY; only OPEN_INCIDENT opens an incident',
    ],
    [{ incident_severity: 'HIGH', action: 'OPEN_INCIDENT' }, undefined],
    [{ match: { methods: ['*'] } }, 'methods: * is the name of no method; left out, all of them count'],
    [{ match: { methods: ['delte'] } }, 'methods: there is no method delte; did you mean DELETE?'],
    [{ match: { methods: ['PROPFIND', 'get'] } }, undefined],
    [
      { match: { operations: ['method:WRITE'] } },
      'method:WRITE names an HTTP method; for READ, WRITE and ADMIN there is verbs',
    ],
    [
      { action: 'ALLOW', match: { repo_patterns: ['app'] } },
      'app allows the repository of this name in any organisation',
    ],
    [{ action: 'ALLOW', match: { repo_patterns: ['acme/app', '*'] } }, undefined],
    [{ match: { repo_patterns: ['app'] } }, undefined],
    [
      { match: { url_patterns: ['https://x.com/a#b'] } },
      'https://x.com/a#b matches nothing: URLs are matched without what follows a #',
    ],
  ];
  for (const [rule, warning] of rows)
    t.strictSame(
      warningsOf(withRule(rule)),
      warning === undefined ? [] : [`rule a: ${warning}`],
      JSON.stringify(rule),
    );
});

t.test('rules that are never reached', async (t) => {
  const after = (first: object, second: object) =>
    warningsOf({
      name: 'p',
      rules: [
        { rule_id: 'b', action: 'ALLOW', ...second },
        { rule_id: 'a', action: 'DENY', priority: 1, ...first },
      ],
    });
  const github = { match: { tool_name: 'github' } };
  t.strictSame(after({}, {}), ['rule b: is never reached, since rule a before it holds for every call']);
  t.strictSame(after({ match: { operations: ['*'] } }, github), [
    'rule b: is never reached, since rule a before it holds for every call',
  ]);
  t.strictSame(after(github, github), ['rule b: is never reached, since rule a before it asks for the same']);
  t.strictSame(after({ ...github, condition: { is_new_destination: true } }, github), []);
  t.strictSame(after({ match: { operations: ['*'], ...github.match } }, {}), []);
  t.strictSame(
    after({ ...github, action: 'ALLOW' }, { ...github, action: 'DENY' }),
    [],
    'an ALLOW reads narrowly',
  );
  t.strictSame(after({ priority: 200 }, github), [], 'it stands behind');
});

/** Whether the pattern, of a rule that refuses, matches the URL in one of its readings. */
const matches = (pattern: string, url: string): boolean =>
  readingsOf(parseTarget(url).href).some(compileUrlPattern(pattern, false));

t.test('a URL pattern that does not match what it seems to', async (t) => {
  const rows: [pattern: string, url: string, warning: RegExp][] = [
    ['htps://x.com/', 'https://x.com/', /has the scheme htps; did you mean https\?$/],
    ['https://x.com/caf\u00e9', 'https://x.com/caf\u00e9', /matches nothing: .* percent-encoded/],
    ['*caf\u00e9*', 'https://x.com/caf\u00e9', /matches nothing/],
    ['https://*.m\u00fcnchen.de/*', 'https://www.m\u00fcnchen.de/a', /matches nothing: .* punycode/],
    ['https://x.com/"a"', 'https://x.com/"a"', /matches nothing/],
    ['https://x.com/a#top', 'https://x.com/a#top', /matches nothing: .* #$/],
    ['https://x.com/*#top', 'https://x.com/a#top', /matches nothing/],
    ['https://x.com/a/../b', 'https://x.com/a/../b', /matches nothing: \. and \.\. are resolved/],
    ['https://x.com/%2e/b*', 'https://x.com/%2e/b', /matches nothing/],
    ['https://x.com:*/*', 'https://x.com/a', /scheme's own port/],
    ['*://x.com:443/*', 'https://x.com:443/a', /scheme's own port/],
    ['http*://x.com:80*', 'http://x.com:80/a', /scheme's own port/],
    ['https://x.com/a?b=', 'https://x.com/a?b=c', /end it with \*/],
  ];
  for (const [pattern, url, warning] of rows) {
    for (const allows of [true, false])
      t.match(urlPatternWarning(pattern, allows), warning, `${pattern}, ${allows}`);
    t.notOk(matches(pattern, url), `${pattern} does not match ${url}`);
  }
  t.match(urlPatternWarning('https://*@x.com/*', false), /matches nothing: no URL has a user/);
});

t.test('a URL pattern that allows more than it seems to', async (t) => {
  const rows: [pattern: string, url: string, warning: RegExp][] = [
    ['https://api.x.com', 'https://api.x.com:8443/', /every port of the host/],
    ['https://api.x.com/repos/acme', 'https://api.x.com/repos/acme-x', /such as \/acme-x; end it with \//],
    [
      'https://api.x.com*',
      'https://api.x.com.attacker.example/',
      /strangers.* api\.x\.com\.attacker\.example/,
    ],
    ['https://api.x.com*/v1/*', 'https://api.x.com.attacker.example/v1/a', /strangers/],
    ['https://10.0.*:8080/*', 'https://10.0.attacker.example:8080/', /10\.0\.attacker\.example/],
    ['https://*x.com/*', 'https://attackerx.com/', /attackerx\.com/],
    ['https://api.*.com/*', 'https://api.attacker.com/', /api\.attacker\.com/],
  ];
  for (const [pattern, url, warning] of rows) {
    t.match(urlPatternWarning(pattern, true), warning, pattern);
    t.equal(urlPatternWarning(pattern, false), undefined, `${pattern} of a rule that refuses`);
    t.ok(
      readingsOf(parseTarget(url).href).every(compileUrlPattern(pattern, true)),
      `${pattern} allows ${url}`,
    );
  }
});

t.test('URL patterns of which there is nothing to say', async (t) => {
  const patterns = [
    'https://api.x.com/',
    'https://api.x.com:443/v1/',
    'https://api.x.com:443/v1/*',
    'https://api.x.com:8443',
    'https://api.x.com:84*/*',
    'https://m\u00fcnchen.de/',
    'https://[::1]:8080/',
    'https://[::1]/*',
    'https://*.x.com/*',
    'https://*.s3.*.amazonaws.com/*',
    'https://api-*.x.com/*',
    'https://svc-*.internal/*',
    'https://x.com/a?b=*',
    'https://x.com/.well-known/*',
    'https://x.com/a...b/',
    'https://x.com/?q=/../*',
    '*://x.com/*',
    'https://*',
    'https://*.com/*',
    'mcp://search/',
    '*',
  ];
  for (const pattern of patterns) t.equal(urlPatternWarning(pattern, true), undefined, pattern);
});

t.test('a policy of many names is read in bounds', async (t) => {
  const rulesOf = (match: (rule: number) => object) => ({
    name: 'p',
    rules: Array.from({ length: 1000 }, (_, rule) => ({
      rule_id: `r${rule}`,
      action: 'DENY',
      match: match(rule),
    })),
  });
  const names = (rule: number) => Array.from({ length: 10 }, (_, at) => `some_operation_${rule}_${at}`);
  t.equal(warningsOf(rulesOf((rule) => ({ tool_names: names(rule) }))).length, 50, 'so many are shown');
  t.equal(warningsOf(rulesOf((rule) => ({ tool_name: 'slack', operations: names(rule) }))).length, 50);
  const early = withMatch({ tool_name: 'aws', operations: [...names(0), 'creat_user'] });
  t.match(warningsOf(early), [/did you mean create_user/]);
  const late = rulesOf((rule) => ({ operations: rule === 999 ? ['creat_user'] : names(rule) }));
  t.strictSame(warningsOf(late), [], 'past so many unlisted names nothing near is looked for');
});
