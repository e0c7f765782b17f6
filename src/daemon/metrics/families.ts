/* All metrics of the gateway itself: names, types and labels are a contract with dashboards and alerts. */

export interface FamilyText {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /**
   * Names of the labels. Each has few values, fixed by code or configuration: never a URL, a host, an agent
   * or a tenant.
   */
  readonly labels?: readonly string[];
  /**
   * The way in which values of several workers become one; a sum by default. `max` is for values that all of
   * them share.
   */
  readonly aggregator?: 'sum' | 'max' | 'min';
}

const gauge = (
  help: string,
  aggregator: NonNullable<FamilyText['aggregator']> = 'sum',
  ...labels: string[]
): FamilyText => ({ type: 'gauge', help, labels, aggregator });
const counter = (help: string, ...labels: string[]): FamilyText => ({ type: 'counter', help, labels });
const histogram = (help: string, ...labels: string[]): FamilyText => ({ type: 'histogram', help, labels });

export const familyTexts = {
  postern_build_info: gauge('Always 1; the label has the version.', 'max', 'version'),
  postern_workers: gauge('Processes that serve.'),
  postern_config_generation: gauge('Configurations taken since the start, the first included.', 'min'),
  postern_config_reload_ok: gauge('0 where the last reload was refused, else 1.', 'min'),
  postern_calls_total: counter(
    'Calls by entrance, decision and risk band; NONE where a call was refused before its risk was assessed.',
    'entrance',
    'decision',
    'band',
  ),
  postern_call_reasons_total: counter(
    'Reason codes of calls; OTHER are codes that rules name themselves. A call may have several.',
    'decision',
    'reason',
  ),
  postern_auth_failures_total: counter(
    'Failed authentications by entrance and reason. Clients of proxies ask first without a key (missing); held_up is what came after too many from one address. A key that ends within an open tunnel counts in postern_call_reasons_total alone (INVALID_KEY).',
    'entrance',
    'reason',
  ),
  postern_answer_findings_total: counter(
    'Findings in answers to calls by what became of the answer (passed, redacted, blocked; reported by /v1/scan/response) and reason; each counts once for an answer.',
    'outcome',
    'reason',
  ),
  postern_messages_total: counter('Messages of open calls that left a trace, by decision.', 'decision'),
  postern_would_be_total: counter('Decisions that monitor mode did not enforce.', 'decision'),
  postern_unrecorded_calls_total: counter('Calls that could not be recorded and were therefore not let out.'),
  postern_judgement_seconds: histogram('Time from a received call to its recorded decision.'),
  postern_stage_seconds: histogram('Time in each stage of the pipeline.', 'stage'),
  postern_upstream_seconds: histogram(
    'Time from sending a request to the head of its answer, connecting included.',
  ),
  postern_upstream_answers_total: counter('Answers of upstreams by class of status.', 'class'),
  postern_upstream_failures_total: counter('Requests without an answer, by code of the failure.', 'code'),
  postern_reader_threads: gauge('Reader threads that the configuration asks for.'),
  postern_reader_waiting: gauge('Bodies that wait for a reader thread.'),
  postern_reader_waiting_bytes: gauge('Bytes that wait for a reader thread.'),
  postern_reader_refused_total: counter('Bodies that were refused since too much waited, or for too long.'),
  postern_reader_lost_total: counter(
    'Bodies without a result, since their thread was ended or died.',
    'cause',
  ),
  postern_reader_wait_seconds: histogram('Time that bodies waited for a reader thread.'),
  postern_reader_seconds: histogram('Time that reader threads took for a body.'),
  postern_state_up: gauge('1 where the state answers and takes writes, else 0.', 'min'),
  postern_state_seconds: histogram('Time of operations of the state that had to be waited for.'),
  postern_state_operations_total: counter(
    'Operations of the state that had to be waited for.',
    'operation',
    'outcome',
  ),
  postern_journal_waiting_bytes: gauge('Bytes of the journal that the state has not taken yet.'),
  postern_journal_problems_total: counter('Times that the journal could not be shipped or read.'),
  postern_feed_up: gauge(
    '1 where the last fetch of a threat feed went well and it is not stale.',
    'min',
    'feed',
  ),
  postern_feed_indicators: gauge('Entries of a threat feed in use.', 'max', 'feed'),
  postern_feed_age_seconds: gauge(
    'Time since a threat feed was fetched or said to be unchanged.',
    'max',
    'feed',
  ),
  postern_notifications_waiting: gauge('Notifications that wait, by type of channel.', 'max', 'type'),
  postern_notifications_dead: gauge('Notifications that were given up and can be replayed.', 'max', 'type'),
  postern_notifications_delivered: gauge('Notifications delivered since each queue exists.', 'max', 'type'),
  postern_notifications_dropped: gauge('Notifications dropped since a queue was full.', 'max', 'type'),
  postern_notification_circuits_open: gauge(
    'Channels that are not tried at the moment, since they failed again and again.',
    'max',
    'type',
  ),
  postern_spans_total: counter(
    'Spans that an OTLP endpoint took, and those dropped since too many waited or it refused them.',
    'outcome',
  ),
  postern_certificate_days: gauge(
    'Days until a certificate of the gateway expires: the authority, and those of the listeners.',
    'min',
    'certificate',
  ),
};

export type FamilyName = keyof typeof familyTexts;

export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The name of the line where it differs from that of the metric, as in histograms. */
  readonly metricName?: string;
}

/** A metric with all its values, as prom-client writes and adds it up. */
export interface Family extends FamilyText {
  readonly name: string;
  readonly aggregator: 'sum' | 'max' | 'min';
  readonly values: readonly Sample[];
}
