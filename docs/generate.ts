import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { bands, dataClasses } from '../src/core/call.ts';
import { problems } from '../src/core/errors.ts';
import {
  conditionAliases,
  fileSchema,
  type Rule,
  type RuleCondition,
  type RuleMatch,
  ruleActions,
  ruleSchema,
} from '../src/policy/schema.ts';

/*
 * Writes the tables of policies.md: types and bounds from the schema, codes of failures from `errors.ts`, and what keys and reasons
 * mean from here. A key that is new in the schema lacks its entry and does not compile; a table that is out of date, or lacks a code,
 * fails a test. Run: `node docs/generate.ts`.
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
  is_external_principal: ['true', 'It addresses somebody outside of `org_domains` and `org_accounts`.'],
  is_new_destination: [
    'true',
    'The agent has not used this repository, channel, bucket or else host before.',
  ],
  is_volume_burst: [
    'true',
    'The agent makes at least 5 times as many calls as usual; false without a baseline.',
  ],
  threat_intel_match: ['true', 'A threat feed lists the destination.'],
  risk_score_gt: ['0.5', 'The risk score is above.'],
  trust_score_lt: ['true', "The agent's trust is below; `true` means 0.6."],
  body_size_bytes_gt: ['65536', 'The body, as received, has more bytes.'],
  time_of_day_outside: [
    '{ start: "08:00", end: "18:00", tz: Europe/Berlin }',
    'The clock of the zone stands outside: `start` is within, `end` is not; `22:00` to `06:00` passes midnight.',
  ],
  daily_budget_exceeded: [
    'llm-calls',
    'That budget was used up before this call; false where nobody defined it.',
  ],
  body_contains_any: [
    '["drop table "]',
    'One of the phrases stands in the body or a decoded form of it, in any case.',
  ],
  body_contains_all: ['[resources/read, "file://"]', 'Every phrase does.'],
  body_path_equals: ['{ path: $.force, value: true }', 'The field has this value; a number equals its text.'],
  body_path_gt: ['{ path: $.amount, value: 1000 }', 'The field has a number above; numbers in texts count.'],
  body_path_gte: ['{ path: $.amount, value: 1000 }', 'A number equal or above.'],
  body_path_lt: ['{ path: $.amount, value: 0 }', 'A number below.'],
  body_path_lte: [
    '{ path: "$.items[*].price", value: 0 }',
    'A number equal or below; of `[*]` any element counts.',
  ],
};

export const ruleKeys: Entries<Rule> = {
  rule_id: ['large-payout', 'Names the rule in answers, traces and diffs; unique within the policy.'],
  priority: ['10', 'Lower numbers are asked first; equal ones in the order of the document.'],
  match: ['{ verbs: [WRITE] }', 'Which calls the rule is about; `{}` is about all.'],
  condition: ['{ has_data_class: [PHI] }', 'When it applies to them; `{}` always.'],
  action: ['DENY', 'What becomes of the call. `OPEN_INCIDENT` is `DENY` and an incident.'],
  escalate_to: ['slack', 'A kind of channel that is told whatever its filters say.'],
  tag: ['after-hours', 'Stands in the trace, also where another rule decides.'],
  incident_severity: ['CRITICAL', 'Of `OPEN_INCIDENT`; `HIGH` where none is given.'],
  reason_code: ['FORCE_PUSH', 'Instead of `POLICY_<ACTION>`.'],
};

const documentKeys: Entries<z.output<typeof fileSchema>> = {
  name: ['payments', 'With the environment, the identity of the policy.'],
  description: ['Large payments wait.', 'For people.'],
  env_name: ['production', 'The environment; left out: all.'],
  env_names: ['[production, staging]', 'Several environments.'],
  mode: ['monitor', '`monitor`: says what it would do, and does nothing.'],
  rules: ['[…]', 'The rules.'],
  tenants: ['[acme]', 'In policy files: whose policy it is; left out: of all tenants.'],
};

/** What is said of calls that are judged, besides the codes that rules name themselves. */
const reasons: readonly (readonly [codes: readonly string[], meaning: string])[] = [
  [ruleActions.map((it) => `POLICY_${it}`), 'a rule of this action decides, and names no code of its own'],
  [dataClasses, 'what was found in the call'],
  [
    ['SECRET_MISDIRECTED'],
    'a secret goes elsewhere than to its vendor, or than to the domain where it is at home',
  ],
  [['UNSANITIZABLE'], 'what must be cut cannot be cut'],
  [['UNREADABLE'], 'the call cannot be read to its end within the limits'],
  [['THREAT_INTEL_MATCH'], 'a threat feed lists where it goes, or a URL that it carries'],
  [['NEW_DESTINATION'], 'the agent has not been there before'],
  [['BASELINE_ANOMALY'], 'a host, an operation, an hour or a size that is unusual for the agent'],
  [['VOLUME_BURST'], 'at least five times as many calls in ten minutes as are normal for the agent'],
  [
    ['EXTERNAL_PRINCIPAL'],
    'it addresses somebody outside the organisation, or takes what was found in it outside',
  ],
  [
    ['READ_THEN_WRITE', 'CROSS_AGENT_EXFIL'],
    'it takes outside what this agent, or another one, was answered a moment before',
  ],
  [
    ['PRIVILEGE_ESCALATION'],
    'rights are given to somebody who was made a moment before, or its words are about gaining rights',
  ],
  [['MASS_ACTION'], 'at least ten writes of the agent with one tool within a minute'],
  [
    ['TOKEN_HARVESTING'],
    'the agent had several distinct credentials within ten minutes that stand where they do not belong',
  ],
  [
    ['EXFILTRATION', 'DESTRUCTIVE', 'LATERAL_MOVEMENT'],
    'the context or the body asks to send data away, to destroy, or to move on to other hosts',
  ],
  [['LOW_TRUST'], 'the trust in the agent is below 0.6'],
  [['BUDGET_EXCEEDED'], 'a budget that the call counts for was used up before it'],
  [bands.map((it) => `RISK_${it}`), 'no rule holds; the posture goes by the band of the risk'],
  [['DENYLISTED'], 'the denylist of the tenant has the destination'],
  [['AGENT_SUSPENDED'], 'an analyst can reactivate the agent'],
  [['EPHEMERAL_SCOPE_VIOLATION'], 'the call is out of the scope of its key'],
  [['RECENT_APPROVAL_GRANT', 'RECENT_APPROVAL_DENIAL'], 'somebody has just decided on the identical call'],
  [
    ['APPROVAL_IMPOSSIBLE'],
    'a message of an open connection would need an approval, for which it cannot wait',
  ],
  [
    ['MCP_TOOL_DRIFT'],
    'a tool of an MCP server that it calls has changed, is new, gives orders, or asks for what no tool needs',
  ],
  [['OPAQUE_CONTENT'], 'a picture, an archive or a file of unknown format in it was not looked into'],
  [['GATEWAY_DEGRADED'], 'it was judged without the state'],
  [['RESPONSE_BLOCKED'], 'the call went out; its answer is not let in, for what stands behind this code'],
  [['RESPONSE_SANITIZED'], 'the call went out; the classes behind this code were cut out of its answer'],
  [
    ['PROMPT_INJECTION'],
    'the answer, a message between agents, or the context gives orders to the agent that reads it',
  ],
];

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const toSchema = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;

function typeOf(schema: Schema): string {
  const { type, anyOf, items, properties } = schema;
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.enum) return schema.enum.map((it) => `\`${it}\``).join(', ');
  if (items) {
    const each = items.type === 'object' ? 'rules' : items.enum ? typeOf(items) : 'texts';
    return `list of ${each}, up to ${schema.maxItems}`;
  }
  if (properties && Object.keys(properties).length < 4) return `{ ${Object.keys(properties).join(', ')} }`;
  if (type === 'string') return schema.maxLength ? `text, up to ${schema.maxLength}` : 'text';
  if (type === 'number' || type === 'integer')
    return `${type === 'integer' ? 'whole number' : 'number'}${boundsOf(schema)}`;
  return { boolean: 'true or false', null: 'null' }[type ?? ''] ?? 'object';
}

/** The bounds that JavaScript itself sets say nothing. */
function boundsOf({ minimum, maximum }: Schema): string {
  if (minimum === undefined || Math.abs(minimum) === Number.MAX_SAFE_INTEGER) return '';
  return maximum === undefined ? `, ${minimum} or more` : `, ${minimum} to ${maximum}`;
}

function tableOf(schema: Schema | undefined, entries: Readonly<Record<string, Entry>>): string {
  const rows = Object.entries(entries).map(([key, [example, meaning]]) => {
    const property = schema?.properties?.[key] ?? {};
    const fallback = property.default;
    const isTold = fallback !== undefined && fallback !== '' && typeof fallback !== 'object';
    const type = typeOf(property) + (isTold ? ` (\`${fallback}\`)` : '');
    return `| \`${key}\` | ${type} | \`${example}\` | ${meaning} |`;
  });
  return ['| key | type (default) | example | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

const aliasRows = Object.entries(conditionAliases)
  .map(([alias, key]) => `| \`${alias}\` | true or false | \`true\` | The same as \`${key}\`. |`)
  .join('\n');

function reasonTable(): string {
  const rows = reasons.map(
    ([codes, meaning]) => `| ${codes.map((it) => `\`${it}\``).join(', ')} | ${meaning} |`,
  );
  return ['| reason | says |', '|---|---|', ...rows].join('\n');
}

function problemTable(): string {
  const rows = Object.entries(problems).map(
    ([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |`,
  );
  return ['| code | status | says |', '|---|---|---|', ...rows].join('\n');
}

const rule = toSchema(ruleSchema);

/** By the name in the marker. */
const tables: Readonly<Record<string, string>> = {
  policy: tableOf(toSchema(fileSchema), documentKeys),
  rule: tableOf(rule, ruleKeys),
  match: tableOf(rule.properties?.['match'], matchKeys),
  condition: `${tableOf(rule.properties?.['condition'], conditionKeys)}\n${aliasRows}`,
  reason: reasonTable(),
  problem: problemTable(),
};

/** The text with its tables as they should be. Throws where a marker has no table, or a table no marker. */
export function withTables(text: string): string {
  const written = new Set<string>();
  const made = text.replace(
    /(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start: string, name: string, end: string) => {
      const table = tables[name];
      if (table === undefined) throw new Error(`There is no table ${name}.`);
      written.add(name);
      return `${start}${table}\n${end}`;
    },
  );
  const missing = Object.keys(tables).filter((name) => !written.has(name));
  if (missing.length > 0) throw new Error(`There is no marker for ${missing.join(', ')}.`);
  return made;
}

if (import.meta.main) {
  const file = join(import.meta.dirname, 'policies.md');
  writeFileSync(file, withTables(readFileSync(file, 'utf8')));
}
