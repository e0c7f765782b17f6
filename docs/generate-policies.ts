import { z } from 'zod';
import { problems } from '../src/core/errors.ts';
import { reasonCodes } from '../src/decision/reason-codes.ts';
import {
  conditionAliases,
  fileSchema,
  type Rule,
  type RuleCondition,
  type RuleMatch,
  ruleSchema,
} from '../src/policy/schema.ts';
import { defaultText, type Schema, typeText } from './schema-text.ts';
import { wrapLines } from './wrap.ts';

/*
 * Writes policy-reference.md: types and bounds from the schema, codes of failures from `errors.ts`, and what keys and reasons mean from
 * here. A key that is new in the schema lacks its entry and does not compile.
 */

/** What a key means, and an example of its value as YAML. */
type Entry = readonly [example: string, meaning: string];
type Entries<T> = { readonly [K in keyof T]-?: Entry };

export const matchKeys: Entries<RuleMatch> = {
  tool_name: ['github', 'The tool; `custom_proxy` is a host that no tool has.'],
  tool_names: ['[github, slack]', 'One of these tools.'],
  verbs: ['[WRITE, ADMIN]', 'What the operation does: reading, changing, or changing access and settings.'],
  methods: ['[POST, PUT]', 'The HTTP method, in any case; those that override it count as well.'],
  operations: [
    '[merge_pr, "category:secrets"]',
    'An operation by name, `category:<name>`, `method:<METHOD>`, or `*` for all.',
  ],
  agent_ids: [
    '[5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11]',
    'The agent that makes the call, or that the key is of.',
  ],
  agent_runtime_types: ['[langgraph, browser_use]', 'The runtime of that agent.'],
  org_patterns: ['["acme*"]', 'Organisations of a code host, model provider or other tool.'],
  repo_patterns: ['["acme/*"]', 'Repositories: `org/name`, or `name` in any organisation.'],
  channel_patterns: ['["#announce*"]', 'Channels of a chat, with or without `#`, as the call names them.'],
  region_patterns: ['["eu-*"]', 'Regions of a cloud.'],
  account_patterns: ['["123456789012"]', 'Accounts of a cloud, workspaces, projects.'],
  aws_tags: ['{ stage: production }', 'Tags that the call carries; each of them with this value.'],
  principal_patterns: [
    '[acme.com, "*@acme.com"]',
    'Whom the operation addresses: a domain (`acme.com`, `@acme.com`), an address, a login, an account.',
  ],
  url_patterns: [
    '["https://api.acme.com/v1/", "*://*/admin/*"]',
    'A prefix of the URL, or, with `*`, `?` or `[`, a glob over the whole of it; URLs that headers name in its place (`X-Original-URL`) count as well.',
  ],
};

export const conditionKeys: Entries<RuleCondition> = {
  has_data_class: [
    '[SECRETS, PII]',
    'A detector found one of these classes anywhere in the call, with medium confidence or more.',
  ],
  has_detector: [
    '[payment-card, iban]',
    'One of these detectors, or globs of their ids, found something that counts for `has_data_class`.',
  ],
  has_signal: ['[PROMPT_INJECTION]', 'The call has one of these [signals](risk.md#score).'],
  is_external_principal: ['true', 'The call addresses somebody outside of `org_domains` and `org_accounts`.'],
  is_new_destination: [
    'true',
    'The agent is new to this repository, channel or bucket, or, where the call names none, to this host.',
  ],
  is_volume_burst: [
    'true',
    'The agent makes at least 5 times as many calls as usual; false without a baseline.',
  ],
  threat_intel_match: ['true', 'A threat feed lists the destination.'],
  risk_score_gt: ['0.5', 'The risk score of the call is above this.'],
  trust_score_lt: ['true', 'The trust in the agent is below this; `true` means 0.6.'],
  body_size_bytes_gt: ['65536', 'The body, as received, has more bytes than this.'],
  time_of_day_outside: [
    '{ start: "08:00", end: "18:00", tz: Europe/Berlin }',
    'The time in the zone is outside of this window: `start` is inside, `end` is not; `22:00` to `06:00` passes midnight.',
  ],
  daily_budget_exceeded: [
    'llm-calls',
    'The budget of this name was used up before this call; false where there is no such budget.',
  ],
  body_contains_any: [
    '["drop table "]',
    'One of the phrases stands in the body or a decoded form of it, in any case.',
  ],
  body_contains_all: [
    '[resources/read, "file://"]',
    'Each of the phrases stands in the body or a decoded form of it, in any case.',
  ],
  body_path_equals: ['{ path: $.force, value: true }', 'The field has this value; a number equals its text.'],
  body_path_gt: [
    '{ path: $.amount, value: 1000 }',
    'The field has a number above this one; numbers in texts count.',
  ],
  body_path_gte: ['{ path: $.amount, value: 1000 }', 'The field has this number or a larger one.'],
  body_path_lt: ['{ path: $.amount, value: 0 }', 'The field has a smaller number.'],
  body_path_lte: [
    '{ path: "$.items[*].price", value: 0 }',
    'The field has this number or a smaller one; with `[*]` one element is enough.',
  ],
};

export const ruleKeys: Entries<Rule> = {
  rule_id: ['large-payout', 'Names the rule in answers, traces and diffs; unique within the policy.'],
  priority: ['10', 'Lower numbers are asked first; equal ones in the order of the document.'],
  match: ['{ verbs: [WRITE] }', 'The calls that the rule is about; `{}` means all.'],
  condition: ['{ has_data_class: [PHI] }', 'What must be true of such a call; `{}` means nothing more.'],
  action: ['DENY', 'The decision on the call. `OPEN_INCIDENT` is `DENY` and an incident.'],
  escalate_to: ['slack', 'Type of the notification channels that are told, whatever their filters say.'],
  tag: ['after-hours', 'Written into the trace, also where another rule decides.'],
  incident_severity: [
    'CRITICAL',
    'The severity of the incident of `OPEN_INCIDENT`; `HIGH` where none is given.',
  ],
  reason_code: ['FORCE_PUSH', 'The reason code of the decision, in place of `POLICY_<ACTION>`.'],
};

const documentKeys: Entries<z.output<typeof fileSchema>> = {
  name: ['payments', 'Name and environment together identify the policy.'],
  description: ['Large payments wait.', 'A text for people.'],
  env_name: ['production', 'The environment that it is for; left out: all.'],
  env_names: ['[production, staging]', 'The environments that it is for.'],
  mode: ['monitor', '`monitor` records what the policy would decide, and decides nothing.'],
  rules: ['[…]', 'The rules.'],
  tenants: ['[acme]', 'In policy files: the tenants that it is for; left out: all.'],
};

const toSchema = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;

/** A type that would list many values, or fields, is told in the example. */
function typeOf(schema: Schema): string {
  const { properties, items } = schema;
  if (properties && Object.keys(properties).length < 4) return `{ ${Object.keys(properties).join(', ')} }`;
  return items?.type === 'object' ? 'list of rules' : typeText(schema);
}

function keyList(schema: Schema | undefined, entries: Readonly<Record<string, Entry>>): string[] {
  return Object.entries(entries).map(([key, [example, meaning]]) => {
    const property = schema?.properties?.[key] ?? {};
    const fallback = defaultText(property);
    return `- \`${key}\` (${typeOf(property)}${fallback ? `; default ${fallback}` : ''}): ${meaning} Example: \`${example}\`.`;
  });
}

const aliasList = Object.entries(conditionAliases).map(
  ([alias, key]) => `- \`${alias}\` (true or false): The same as \`${key}\`. Example: \`true\`.`,
);

const reasonList = reasonCodes.map(
  ([codes, meaning]) => `- ${codes.map((it) => `\`${it}\``).join(', ')}: ${meaning}.`,
);

const errorList = Object.entries(problems).map(
  ([code, { status, title }]) => `- \`${code}\` (${status}): ${title}.`,
);

const intro = `# Policy reference

Every key of a policy with its type, its default, its meaning and an example; every reason code; every error code.
This page is made from the schema by \`node docs/generate.ts\`. [Policies](policies.md) says how they work together.

A list of values has up to 500 entries, a policy up to 1,000 rules. Lists may not be empty.`;

/** The whole page. */
export function policyReference(): string {
  const rule = toSchema(ruleSchema);
  const page = [
    intro,
    '## policy',
    keyList(toSchema(fileSchema), documentKeys).join('\n'),
    '## rule',
    keyList(rule, ruleKeys).join('\n'),
    '## match',
    keyList(rule.properties?.['match'], matchKeys).join('\n'),
    '## condition',
    [...keyList(rule.properties?.['condition'], conditionKeys), ...aliasList].join('\n'),
    '## Reasons',
    'The code of the deciding rule stands first in `reason_codes`. Then come the codes of rules that decide the same, the classes that were found, and what else was noticed.',
    reasonList.join('\n'),
    '## Errors',
    'A call that is refused before it is judged, a failure behind the decision, and a failed request to the API are answered with one of these codes.',
    errorList.join('\n'),
  ];
  return wrapLines(`${page.join('\n\n')}\n`);
}
