import { z } from 'zod';
import { bands, contentClasses, signalNames, verbs } from '../core/call.ts';
import { parseUuid } from '../core/ids.ts';
import { keepsDirection, keepsDirectionRule } from '../core/safe-name.ts';
import { globProblem } from '../util/glob.ts';
import { parsePath } from './match/json-path.ts';
import { principalGlob } from './match/principal.ts';
import { isTimeZone } from './match/time-window.ts';
import { urlPatternProblem } from './match/url-pattern.ts';

/*
 * The policy language as a schema: it tells what a rule may say. Keys are as users write them, since rules
 * are stored and answered in this form. What was parsed can be parsed again, with the same result. Unknown
 * keys are refused, because a misspelt condition must not widen a rule.
 */

const rulesMax = 1000;
const valuesMax = 500;
const tagsMax = 50;
const identifierLengthMax = 128;
const phraseLengthMax = 512;
const valueLengthMax = 1024;
const descriptionLengthMax = 2000;

export const ruleActions = ['ALLOW', 'DENY', 'SANITIZE', 'REQUIRE_APPROVAL', 'OPEN_INCIDENT'] as const;
export type RuleAction = (typeof ruleActions)[number];

/** The threshold that `trust_score_lt: true` stands for. */
const trustThreshold = 0.6;
const defaultPriority = 100;

const text = (lengthMax: number) =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(lengthMax, `must not be longer than ${lengthMax} characters`)
    .regex(/^\P{Cc}*$/u, 'must not contain control characters');

/**
 * Returns the schema of a list that matches by any of its values. An empty list is refused, as it may be
 * misread.
 */
const listOf = <T extends z.ZodType>(value: T) =>
  z
    .array(value)
    .min(1, 'must not be empty; leave the key out to match all')
    .max(valuesMax, `must not have more than ${valuesMax} values`);

const checked = (lengthMax: number, problemOf: (value: string) => string | undefined) =>
  text(lengthMax).superRefine((value, context) => {
    const problem = problemOf(value);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });

const identifier = text(identifierLengthMax);
const identifiers = listOf(identifier);
const globs = listOf(checked(valueLengthMax, globProblem));
const phrases = listOf(
  z
    .string()
    .min(1, 'must not be empty')
    .max(phraseLengthMax, `must not be longer than ${phraseLengthMax} characters`),
);
const uuid = z.string().transform((value, context) => {
  const parsed = parseUuid(value);
  if (parsed === undefined) context.addIssue({ code: 'custom', message: 'is not a UUID' });
  return parsed ?? z.NEVER;
});

/**
 * Returns why a value is no operation; undefined where it is one. `Method:GET` or `category: code` would be
 * taken for the name of an operation that nobody has.
 */
function operationProblem(value: string): string | undefined {
  if (
    !/^(?:method|category)\s*:/i.test(value) ||
    /^(?:method:[!#$%&'*+.^_`|~\w-]+|category:\S+)$/.test(value)
  )
    return undefined;
  return 'must be method:<VERB> or category:<name> in small letters without spaces, such as method:POST';
}

/**
 * The schema of tags. It takes all own keys: if `__proto__` were dropped as a tag, the rule would be wider
 * than written.
 */
const tags = z.custom<Record<string, string>>().superRefine((value, context) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return context.addIssue('must be an object of tag names and values');
  const entries = Object.entries(value);
  if (entries.length === 0 || entries.length > tagsMax) context.addIssue(`must have 1 to ${tagsMax} tags`);
  for (const [name, tag] of entries) {
    if (
      !identifier.safeParse(name).success ||
      name === '__proto__' ||
      !z.string().max(256).safeParse(tag).success
    ) {
      context.addIssue({
        code: 'custom',
        path: [name],
        message: 'must be a text of up to 256 characters under a tag name of up to 128',
      });
    }
  }
});

export const matchSchema = z.strictObject({
  tool_name: identifier.optional(),
  tool_names: identifiers.optional(),
  verbs: listOf(z.enum(verbs)).optional(),
  methods: listOf(text(32).regex(/^[!#$%&'*+.^_`|~\w-]+$/, 'is not an HTTP method')).optional(),
  operations: listOf(checked(identifierLengthMax, operationProblem)).optional(),
  agent_ids: listOf(uuid).optional(),
  agent_runtime_types: identifiers.optional(),
  org_patterns: globs.optional(),
  repo_patterns: globs.optional(),
  channel_patterns: globs.optional(),
  region_patterns: globs.optional(),
  account_patterns: globs.optional(),
  aws_tags: tags.optional(),
  principal_patterns: listOf(
    checked(valueLengthMax, (value) => globProblem(principalGlob(value))),
  ).optional(),
  url_patterns: listOf(z.string().min(1, 'must not be empty')).optional(),
});
export type RuleMatch = z.output<typeof matchSchema>;

const path = z
  .string()
  .refine(
    (value) => parsePath(value) !== undefined,
    'is not a path such as $.field, $.nested.field, $.items[*].field or $["odd name"]',
  );
const numeric = z.strictObject({ path, value: z.number() });
const clockTime = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'is not a time such as 08:30');
const window = z
  .strictObject({
    start: clockTime,
    end: clockTime,
    tz: z.string().max(64).refine(isTimeZone, 'is not a time zone such as Europe/Berlin').default('UTC'),
  })
  .refine(({ start, end }) => start !== end, 'start and end are the same time');

const conditionShape = z.strictObject({
  has_data_class: listOf(z.enum(contentClasses)).optional(),
  has_detector: globs.optional(),
  has_signal: listOf(z.enum(signalNames)).optional(),
  is_external_principal: z.boolean().optional(),
  is_new_destination: z.boolean().optional(),
  is_volume_burst: z.boolean().optional(),
  threat_intel_match: z.boolean().optional(),
  risk_score_gt: z.number().min(0).max(1).optional(),
  trust_score_lt: z
    .union(
      [z.number().min(0).max(1), z.literal(true).transform(() => trustThreshold)],
      'must be a number from 0 to 1, or true for 0.6',
    )
    .optional(),
  body_size_bytes_gt: z.number().min(0).optional(),
  time_of_day_outside: window.optional(),
  daily_budget_exceeded: identifier.optional(),
  body_contains_any: phrases.optional(),
  body_contains_all: phrases.optional(),
  body_path_equals: z
    .strictObject({
      path,
      value: z.union(
        [z.string().max(valueLengthMax), z.number(), z.boolean(), z.null()],
        'must be a text, a number, true, false or null',
      ),
    })
    .optional(),
  body_path_gt: numeric.optional(),
  body_path_gte: numeric.optional(),
  body_path_lt: numeric.optional(),
  body_path_lte: numeric.optional(),
});

export const conditionAliases = {
  new_resource: 'is_new_destination',
  volume_burst: 'is_volume_burst',
} as const;

const conditionSchema = conditionShape
  .extend({ new_resource: z.boolean().optional(), volume_burst: z.boolean().optional() })
  .transform(({ new_resource, volume_burst, ...condition }, context): z.output<typeof conditionShape> => {
    const aliased = { is_new_destination: new_resource, is_volume_burst: volume_burst };
    for (const [alias, key] of Object.entries(conditionAliases)) {
      if (aliased[key] === undefined) continue;
      if (condition[key] !== undefined)
        context.addIssue({
          code: 'custom',
          path: [alias],
          message: `is another name of ${key}, which is there too`,
        });
      condition[key] = aliased[key];
    }
    return condition;
  });
export type RuleCondition = z.output<typeof conditionShape>;
export const conditionKeys = conditionShape.keyof().options;

export const ruleSchema = z
  .strictObject({
    rule_id: identifier,
    priority: z.int().min(-1_000_000).max(1_000_000).default(defaultPriority),
    match: matchSchema.default({}),
    condition: conditionSchema.default({}),
    action: z.enum(ruleActions),
    escalate_to: identifier.optional(),
    tag: identifier.optional(),
    incident_severity: z.enum(bands).optional(),
    reason_code: z
      .string()
      .regex(/^[A-Z0-9_]{1,64}$/, 'must be 1 to 64 of A-Z, 0-9 and _')
      .optional(),
  })
  .superRefine((rule, context) => {
    rule.match.url_patterns?.forEach((pattern, index) => {
      const problem = urlPatternProblem(pattern, rule.action === 'ALLOW');
      if (problem !== undefined)
        context.addIssue({
          code: 'custom',
          path: ['match', 'url_patterns', index],
          message: problem,
          input: pattern,
        });
    });
  });
export type Rule = z.output<typeof ruleSchema>;

const rules = z
  .array(ruleSchema)
  .min(1, 'must have at least one rule')
  .max(rulesMax, `must not have more than ${rulesMax} rules`)
  .superRefine((all, context) => {
    const indexOf = new Map<string, number>();
    all.forEach(({ rule_id }, index) => {
      const earlier = indexOf.get(rule_id);
      if (earlier === undefined) indexOf.set(rule_id, index);
      else
        context.addIssue({
          code: 'custom',
          path: [index, 'rule_id'],
          message: `is the rule_id of rules[${earlier}] already`,
          input: rule_id,
        });
    });
  });

const envName = text(64);

const documentFields = {
  name: z
    .string()
    .regex(/^[A-Za-z0-9 ._-]{1,128}$/, 'must be 1 to 128 letters, digits, spaces, dots, _ and -'),
  description: z
    .string()
    .max(descriptionLengthMax)
    .regex(keepsDirection, keepsDirectionRule)
    .nullable()
    .default('')
    .transform((value) => value ?? ''),
  env_name: envName.nullable().optional(),
  env_names: listOf(envName).nullable().optional(),
  mode: z.enum(['enforce', 'monitor']).default('enforce'),
  tenants: listOf(identifier).nullable().optional(),
  rules,
};

/**
 * The body of an apply. Unknown fields are left out, as in every request, and `validatePolicy` warns of them.
 */
export const applySchema = z.object(documentFields);

/** One YAML document of a policy file. */
export const fileSchema = z.strictObject(documentFields);

/** A valid policy, from an apply or from a file. */
export interface PolicyDocument {
  readonly name: string;
  readonly description: string;
  /** The environments of the policy; undefined for all. */
  readonly envNames: readonly string[] | undefined;
  /** The tenants of a policy from a file; undefined for all. In an apply only its own tenant may stand here. */
  readonly tenants: readonly string[] | undefined;
  readonly mode: 'enforce' | 'monitor';
  readonly rules: readonly Rule[];
}
