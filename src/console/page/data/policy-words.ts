import { signalNames } from '../../../core/verdict.ts';

/* The words of the policy language, for completion. A test compares them with its schema. */

export const policyKeys = ['name', 'description', 'env_name', 'env_names', 'mode', 'rules'] as const;

export const ruleKeys = [
  'rule_id',
  'priority',
  'match',
  'condition',
  'action',
  'escalate_to',
  'tag',
  'incident_severity',
  'reason_code',
] as const;

export const matchKeys = [
  'tool_name',
  'tool_names',
  'verbs',
  'methods',
  'operations',
  'agent_ids',
  'agent_runtime_types',
  'org_patterns',
  'repo_patterns',
  'channel_patterns',
  'region_patterns',
  'account_patterns',
  'aws_tags',
  'principal_patterns',
  'url_patterns',
] as const;

export const conditionWords = [
  'has_data_class',
  'has_detector',
  'has_signal',
  'is_external_principal',
  'is_new_destination',
  'is_volume_burst',
  'threat_intel_match',
  'risk_score_gt',
  'trust_score_lt',
  'body_size_bytes_gt',
  'time_of_day_outside',
  'daily_budget_exceeded',
  'body_contains_any',
  'body_contains_all',
  'body_path_equals',
  'body_path_gt',
  'body_path_gte',
  'body_path_lt',
  'body_path_lte',
] as const;

/** Keys inside of conditions that hold a mapping. */
export const conditionParts: Readonly<Record<string, readonly string[]>> = {
  body_path_equals: ['path', 'value'],
  body_path_gt: ['path', 'value'],
  body_path_gte: ['path', 'value'],
  body_path_lt: ['path', 'value'],
  body_path_lte: ['path', 'value'],
  time_of_day_outside: ['start', 'end', 'tz'],
};

export const values: Readonly<Record<string, readonly string[]>> = {
  action: ['ALLOW', 'DENY', 'SANITIZE', 'REQUIRE_APPROVAL', 'OPEN_INCIDENT'],
  mode: ['enforce', 'monitor'],
  verbs: ['READ', 'WRITE', 'ADMIN'],
  methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
  has_data_class: ['SECRETS', 'PII', 'PHI', 'INTERNAL', 'OPAQUE_CONTENT'],
  has_signal: signalNames,
  incident_severity: ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'],
  is_external_principal: ['true', 'false'],
  is_new_destination: ['true', 'false'],
  is_volume_burst: ['true', 'false'],
  threat_intel_match: ['true', 'false'],
};
