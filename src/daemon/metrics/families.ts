/* All metrics of the gateway itself: names, types and labels are a contract with dashboards and alerts. */

export interface FamilyText {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Each has few values, which are fixed by code or configuration: never a URL, a host, an agent or a tenant. */
  readonly labels?: readonly string[];
  /** How values of several workers become one; a sum by default. `max` is for what all of them see alike. */
  readonly aggregator?: 'sum' | 'max' | 'min';
}

export const familyTexts = {
  postern_build_info: {
    type: 'gauge',
    help: 'Always 1; the label has the version.',
    labels: ['version'],
    aggregator: 'max',
  },
  postern_workers: { type: 'gauge', help: 'Processes that serve.' },
  postern_config_generation: {
    type: 'gauge',
    help: 'Configurations taken since the start, the first included.',
    aggregator: 'min',
  },
  postern_config_reload_ok: {
    type: 'gauge',
    help: '0 where the last reload was refused, else 1.',
    aggregator: 'min',
  },
  postern_calls_total: {
    type: 'counter',
    help: 'Calls by entrance, decision and risk band; NONE where a call was refused before its risk was assessed.',
    labels: ['entrance', 'decision', 'band'],
  },
  postern_call_reasons_total: {
    type: 'counter',
    help: 'Reason codes of calls; OTHER are codes that rules name themselves. A call may have several.',
    labels: ['decision', 'reason'],
  },
  postern_messages_total: {
    type: 'counter',
    help: 'Messages of open calls that left a trace, by decision.',
    labels: ['decision'],
  },
  postern_would_be_total: {
    type: 'counter',
    help: 'Decisions that monitor mode did not enforce.',
    labels: ['decision'],
  },
  postern_unrecorded_calls_total: {
    type: 'counter',
    help: 'Calls that could not be recorded and were therefore not let out.',
  },
  postern_judgement_seconds: {
    type: 'histogram',
    help: 'Time from a received call to its recorded decision.',
  },
  postern_stage_seconds: {
    type: 'histogram',
    help: 'Time in each stage of the pipeline.',
    labels: ['stage'],
  },
  postern_upstream_seconds: {
    type: 'histogram',
    help: 'Time from sending a request to the head of its answer, connecting included.',
  },
  postern_upstream_answers_total: {
    type: 'counter',
    help: 'Answers of upstreams by class of status.',
    labels: ['class'],
  },
  postern_upstream_failures_total: {
    type: 'counter',
    help: 'Requests without an answer, by code of the failure.',
    labels: ['code'],
  },
  postern_reader_threads: { type: 'gauge', help: 'Reader threads that the configuration asks for.' },
  postern_reader_waiting: { type: 'gauge', help: 'Bodies that wait for a reader thread.' },
  postern_reader_waiting_bytes: { type: 'gauge', help: 'Bytes that wait for a reader thread.' },
  postern_reader_refused_total: {
    type: 'counter',
    help: 'Bodies that were refused since too much waited, or for too long.',
  },
  postern_reader_lost_total: {
    type: 'counter',
    help: 'Bodies without a result, since their thread was ended or died.',
    labels: ['cause'],
  },
  postern_reader_wait_seconds: { type: 'histogram', help: 'Time that bodies waited for a reader thread.' },
  postern_reader_seconds: { type: 'histogram', help: 'Time that reader threads took for a body.' },
  postern_state_up: { type: 'gauge', help: '1 where the state answers, else 0.', aggregator: 'min' },
  postern_state_seconds: {
    type: 'histogram',
    help: 'Time of operations of the state that had to be waited for.',
  },
  postern_state_operations_total: {
    type: 'counter',
    help: 'Operations of the state that had to be waited for.',
    labels: ['operation', 'outcome'],
  },
  postern_journal_waiting_bytes: {
    type: 'gauge',
    help: 'Bytes of the journal that the state has not taken yet.',
  },
  postern_journal_problems_total: {
    type: 'counter',
    help: 'Times that the journal could not be shipped or read.',
  },
  postern_feed_up: {
    type: 'gauge',
    help: '1 where the last fetch of a threat feed went well and it is not stale.',
    labels: ['feed'],
    aggregator: 'min',
  },
  postern_feed_indicators: {
    type: 'gauge',
    help: 'Entries of a threat feed in use.',
    labels: ['feed'],
    aggregator: 'max',
  },
  postern_feed_age_seconds: {
    type: 'gauge',
    help: 'Time since a threat feed was fetched or said to be unchanged.',
    labels: ['feed'],
    aggregator: 'max',
  },
  postern_notifications_waiting: {
    type: 'gauge',
    help: 'Notifications that wait, by type of channel.',
    labels: ['type'],
    aggregator: 'max',
  },
  postern_notifications_dead: {
    type: 'gauge',
    help: 'Notifications that were given up and can be replayed.',
    labels: ['type'],
    aggregator: 'max',
  },
  postern_notifications_delivered: {
    type: 'gauge',
    help: 'Notifications delivered since each queue exists.',
    labels: ['type'],
    aggregator: 'max',
  },
  postern_notifications_dropped: {
    type: 'gauge',
    help: 'Notifications dropped since a queue was full.',
    labels: ['type'],
    aggregator: 'max',
  },
  postern_notification_circuits_open: {
    type: 'gauge',
    help: 'Channels that are not tried at the moment, since they failed again and again.',
    labels: ['type'],
    aggregator: 'max',
  },
  postern_spans_total: {
    type: 'counter',
    help: 'Spans that an OTLP endpoint took, and those dropped since too many waited or it refused them.',
    labels: ['outcome'],
  },
  postern_certificate_days: {
    type: 'gauge',
    help: 'Days until a certificate of the gateway expires: the authority, and those of the listeners.',
    labels: ['certificate'],
    aggregator: 'min',
  },
} as const satisfies Record<string, FamilyText>;

export type FamilyName = keyof typeof familyTexts;

export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The name of the line where it is not that of the family: those of a histogram. */
  readonly metricName?: string;
}

/** One metric with all its values, as prom-client writes and adds it up. */
export interface Family extends FamilyText {
  readonly name: string;
  readonly aggregator: 'sum' | 'max' | 'min';
  readonly values: readonly Sample[];
}
