import type { GivenFacts } from '../facts.ts';
import type { Row } from './row.ts';

const github: GivenFacts = { operation: { toolName: 'github', resource: { org: 'acme' } } };

/** Rules of several keys, of which each must hold, and such as allow, which read the same call more narrowly. */
export const combinations: Record<string, Row[]> = {
  'an empty rule': [
    { holds: [{}, { method: 'PURGE' }, github, { body: 'x' }], fails: [] },
    { match: {}, condition: {}, holds: [{}], fails: [] },
  ],
  'several match keys': [
    {
      match: { tool_name: 'github', verbs: ['WRITE'], methods: ['POST'], org_patterns: ['acme'] },
      holds: [github],
      fails: [
        { ...github, method: 'PUT' },
        { operation: { toolName: 'github', resource: { org: 'other' } } },
        { operation: { toolName: 'github', verb: 'READ', resource: { org: 'acme' } } },
        { operation: { resource: { org: 'acme' } } },
      ],
    },
    {
      match: { url_patterns: ['https://api.x.com/'], operations: ['method:POST', 'merge_pr'] },
      holds: [{ url: 'https://api.x.com/v1' }],
      fails: [{ url: 'https://api.x.com/v1', method: 'GET' }, { url: 'https://y.com/' }],
      edgeHolds: [{ url: 'https://api.x.com/v1', method: 'GET', operation: { name: 'merge_pr' } }],
    },
  ],
  'several conditions': [
    {
      condition: { has_data_class: ['PII'], body_contains_any: ['export'], risk_score_gt: 0.2 },
      holds: [{ classes: ['PII'], body: 'export', riskScore: 0.3 }],
      fails: [
        { classes: ['PII'], body: 'export' },
        { body: 'export', riskScore: 0.3 },
        { classes: ['PII'], riskScore: 0.3 },
      ],
    },
    // A range over one value; over several, each end may be met by another of them.
    {
      condition: { body_path_gte: { path: '$.n', value: 1 }, body_path_lt: { path: '$.n', value: 3 } },
      holds: [{ body: { n: 2 } }],
      fails: [{ body: { n: 0 } }, { body: { n: 4 } }],
      edgeHolds: [{ body: { n: 1 } }],
      edgeFails: [{ body: { n: 3 } }],
    },
    {
      condition: { body_path_gt: { path: '$.n[*]', value: 8 }, body_path_lt: { path: '$.n[*]', value: 2 } },
      holds: [{ body: { n: [1, 9] } }],
      fails: [{ body: { n: [1, 8] } }, { body: { n: [2, 9] } }],
    },
  ],
  'match and condition together': [
    {
      match: { tool_names: ['github'] },
      condition: { is_new_destination: true, trust_score_lt: true },
      holds: [{ ...github, isNewDestination: true, trustScore: 0.5 }],
      fails: [
        { isNewDestination: true, trustScore: 0.5 },
        { ...github, trustScore: 0.5 },
        { ...github, isNewDestination: true },
      ],
    },
    {
      match: { verbs: ['WRITE'] },
      condition: { time_of_day_outside: { start: '09:00', end: '17:00' }, daily_budget_exceeded: 'llm' },
      holds: [{ nowMs: Date.UTC(2026, 5, 1, 20), budgetsExceeded: ['llm'] }],
      fails: [{ nowMs: Date.UTC(2026, 5, 1, 20) }, { budgetsExceeded: ['llm'] }],
    },
  ],
  'a rule that allows': [
    {
      action: 'ALLOW',
      match: { methods: ['POST', 'DELETE'] },
      holds: [{ method: 'post' }, { method: 'POST', overridingMethods: ['DELETE'] }],
      fails: [{ method: 'GET' }],
      edgeFails: [
        { method: 'POST', overridingMethods: ['PUT'] },
        { method: 'POST', overridingMethods: ['DELETE', 'PUT'] },
      ],
    },
    {
      action: 'ALLOW',
      match: { repo_patterns: ['acme/*'] },
      holds: [{ operation: { resource: { repo: 'acme/app' } } }],
      fails: [{}, { operation: { resource: { repo: 'other/app' } } }],
      edgeFails: [
        { operation: { resource: { repo: 'ACME/app' } } },
        { operation: { resource: { repo: 'acme/app,other/app' } } },
        { operation: { resource: { repo: 'acme/app', unknown: ['repo'] } } },
      ],
    },
    {
      action: 'ALLOW',
      condition: { body_path_lte: { path: '$.amount', value: 100 } },
      holds: [{ body: { amount: 100 } }],
      fails: [{}, { body: { amount: 101 } }],
      edgeFails: [
        { body: 'amount', bodyValue: () => ({ kind: 'unclear' }) },
        { body: 'amount', bodyValue: () => ({ kind: 'value', readings: [{ amount: 1 }, { amount: 2 }] }) },
      ],
    },
  ],
  'a rule that refuses': [
    {
      action: 'REQUIRE_APPROVAL',
      condition: { body_path_gt: { path: '$.amount', value: 100 } },
      holds: [{ body: { amount: 101 } }],
      fails: [{ body: { amount: 100 } }],
      edgeHolds: [
        { body: 'amount', bodyValue: () => ({ kind: 'unclear' }) },
        { body: 'amount', bodyValue: () => ({ kind: 'value', readings: [{ amount: 1 }, { amount: 200 }] }) },
      ],
      edgeFails: [{ body: 'none of it', bodyValue: () => ({ kind: 'unclear' }) }],
    },
  ],
};
