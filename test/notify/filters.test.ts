import t from 'tap';
import { ownName } from '../../src/core/safe-name.ts';
import { createFilter } from '../../src/notify/filters.ts';
import type { Notice } from '../../src/notify/notice.ts';
import { channelOf, noticeOf } from './lab.ts';

const agentId = noticeOf().agentId;

/** Of a denial of band HIGH by `support-bot` of acme in production, with GitHub, unless `notice` says otherwise. */
const cases: readonly {
  readonly name: string;
  readonly entry?: Readonly<Record<string, unknown>>;
  readonly notice?: Partial<Notice>;
  readonly want: boolean;
}[] = [
  { name: 'a channel without filters wants everything', want: true },
  { name: 'an event by its name', entry: { events: ['decision.deny'] }, want: true },
  { name: 'another event', entry: { events: ['decision.allow', 'key.created'] }, want: false },
  { name: 'a group', entry: { events: ['decision.*'] }, want: true },
  { name: 'another group', entry: { events: ['key.*', 'incident.*'] }, want: false },
  { name: 'all events', entry: { events: ['*'] }, want: true },
  { name: 'the same severity', entry: { min_severity: 'HIGH' }, want: true },
  { name: 'too little severity', entry: { min_severity: 'CRITICAL' }, want: false },
  { name: 'a tool', entry: { tools: ['slack', 'github'] }, want: true },
  { name: 'another tool', entry: { tools: ['slack'] }, want: false },
  { name: 'no tool at all', entry: { tools: ['slack'] }, notice: { toolName: null }, want: false },
  { name: 'an agent by id', entry: { agents: [agentId] }, want: true },
  { name: 'an agent by a glob of its name', entry: { agents: ['x*', 'support-*'] }, want: true },
  {
    name: 'an agent that calls itself otherwise',
    entry: { agents: ['support-*'] },
    notice: { agentName: ownName('nobody'), registeredName: ownName('support-bot') },
    want: true,
  },
  { name: 'another agent', entry: { agents: ['billing-*'] }, want: false },
  {
    name: 'no agent at all',
    entry: { agents: ['*'] },
    notice: { agentId: null, agentName: null },
    want: false,
  },
  { name: 'an environment', entry: { environments: ['production'] }, want: true },
  { name: 'another environment', entry: { environments: ['staging'] }, want: false },
  { name: 'its tenant', entry: { tenant: 'acme' }, want: true },
  { name: 'another tenant', entry: { tenant: 'acme' }, notice: { tenantId: 'beta' }, want: false },
  { name: 'the daemon, for a tenant', entry: { tenant: 'acme' }, notice: { tenantId: null }, want: false },
  { name: 'the daemon, for the daemon', notice: { tenantId: null }, want: true },
  {
    name: 'what a rule escalates passes all filters',
    entry: {
      events: ['key.created'],
      min_severity: 'CRITICAL',
      tools: ['slack'],
      agents: ['x'],
      environments: ['y'],
    },
    notice: { escalateTo: ['email', 'webhook'] },
    want: true,
  },
  {
    name: 'what a rule escalates to another kind passes none',
    entry: { events: ['key.created'] },
    notice: { escalateTo: ['email'] },
    want: false,
  },
  {
    name: 'what a rule escalates stays within its tenant',
    entry: { tenant: 'acme' },
    notice: { tenantId: 'beta', escalateTo: ['webhook'] },
    want: false,
  },
];

for (const { name, entry = {}, notice = {}, want } of cases) {
  t.test(`filters: ${name}`, async (t) => {
    const filter = createFilter(channelOf('webhook', 'http://127.0.0.1:1/', entry));
    t.equal(filter.wants(noticeOf(notice)), want);
  });
}
