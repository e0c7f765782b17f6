import { type Command, Option } from 'commander';
import type { FullIncident, Incident, TimelineEntry } from '../../api/answers.ts';
import { apiPath, asks, type CliCommand, command, listCommand, type PageOptions, showList } from '../ask.ts';
import type { CommonOptions } from '../connection/client.ts';
import { print, toTable } from '../output.ts';

interface ListOptions extends PageOptions {
  readonly status?: string;
  readonly agent?: string;
  readonly severity?: string;
}

interface OpenOptions extends CommonOptions {
  readonly severity?: string;
  readonly trace?: string;
  readonly note?: string;
}

interface TransitionOptions extends CommonOptions {
  readonly code?: string;
  readonly note?: string;
}

const named = { path: '/v1/incidents', field: 'incident_id', noun: 'incident' };
const columns = ['incident_id', 'status', 'severity', 'title', 'agent_id', 'trace_count', 'changed_at'];

const closeCodes = 'false_positive, agent_misbehavior, agent_compromised, policy_gap, infrastructure';

const facts = [
  ...['incident_id', 'tenant_id', 'env_name', 'agent_id', 'trigger', 'title', 'severity', 'status'],
  ...['trace_count', 'opened_at', 'changed_at', 'closed_at', 'close_code', 'closed_by'],
];
const timelineColumns = ['at', 'kind', 'by', 'what'];

const toQuery = ({ status, agent: agent_id, severity }: ListOptions) => ({ status, agent_id, severity });

const toRow = ({ trace_id, text, from, to, code, ...entry }: TimelineEntry) => ({
  ...entry,
  what: trace_id ?? text ?? (from === undefined ? '' : `${from} -> ${to}${code ? ` (${code})` : ''}`),
});

/** Adds `postern incident`, for what went wrong, and how far somebody has looked into it. */
export function addIncident(program: Command): void {
  const group = program.command('incident').description('incidents, opened by the gateway or by hand');
  listCommand(group, 'list incidents, newest first')
    .addOption(new Option('--status <status>', 'these alone').choices(['open', 'investigating', 'closed']))
    .option('--agent <agent_id>', 'of this agent')
    .option('--severity <band>', 'of this severity')
    .action(showList<ListOptions>('/v1/incidents', columns, { query: toQuery }));
  command(group, 'open', 'open an incident about an agent; a standing one of the kind is joined')
    .argument('<agent_id>')
    .argument('<title>')
    .option('--severity <band>', 'LOW, MEDIUM, HIGH or CRITICAL (default: MEDIUM)')
    .option('--trace <id>', 'the call that it is about')
    .option('--note <text>', 'what is known')
    .action(asks(open));
  command(group, 'show', 'show an incident, and all that has happened')
    .argument('<incident_id>')
    .action(asks(show, { named }));
  command(group, 'note', 'add a note to an incident')
    .argument('<incident_id>')
    .argument('<text>')
    .action(asks(addNote, { named }));
  command(group, 'transition', 'move an incident on: open, investigating, closed')
    .argument('<incident_id>')
    .argument('<status>', 'investigating or closed')
    .option('--code <code>', `to close it: ${closeCodes}`)
    .option('--note <text>', 'what was found')
    .action(asks(transition, { named }));
}

async function open({ client, operands, options, tell }: CliCommand<OpenOptions>): Promise<void> {
  const [agent_id, title] = operands;
  const { severity, trace: trace_id, note } = options;
  const asked = { agent_id, title, severity, trace_id, note };
  const incident = await client.send<Incident>('POST', '/v1/incidents', asked);
  await tell(incident, `${incident.incident_id} is ${incident.status}.`);
}

async function show(asking: CliCommand<CommonOptions>): Promise<void> {
  const { client, operands, options } = asking;
  const incident = await client.get<FullIncident>(apiPath('/v1/incidents/?', ...operands));
  await asking.show(incident, options.json ? undefined : facts);
  if (!options.json) await print(`\n${toTable(incident.timeline.map(toRow), timelineColumns)}`);
}

async function addNote({ client, operands: [id, text], tell }: CliCommand<CommonOptions>): Promise<void> {
  const incident = await client.send<Incident>('POST', apiPath('/v1/incidents/?/notes', id), { text });
  await tell(incident, `The note stands in ${incident.incident_id}.`);
}

async function transition({ client, operands, options, tell }: CliCommand<TransitionOptions>): Promise<void> {
  const [id, status] = operands;
  const { code, note } = options;
  const asked = { status, code, note };
  const incident = await client.send<Incident>('POST', apiPath('/v1/incidents/?/transition', id), asked);
  await tell(incident, `${incident.incident_id} is ${incident.status}.`);
}
