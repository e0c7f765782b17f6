import { bands, type CallSoFar, decisions, type Entrance } from '../../core/call.ts';
import { type GatewayError, problems } from '../../core/errors.ts';
import { type AnswerFinding, answerOutcomes } from '../../decision/answers/answer-findings.ts';
import { authEntrances, authReasons } from '../../decision/auth-failure.ts';
import { reasonCodes } from '../../decision/reason-codes.ts';
import type { Lost } from '../../inspect/threads/reader-thread.ts';
import { Histogram, NamedCounts, NamedHistograms } from './cells.ts';

const entrances: readonly Entrance[] = ['forward', 'inbound', 'scan', 'a2a'];
const bandNames = [...bands, 'NONE'] as const;
const codes = Object.keys(problems);
const reasonNames = [...new Set([...reasonCodes.flatMap(([names]) => names), ...codes])];

/** Counts a process's calls. All names are known before the first call: no text of a call becomes a label. */
export class Counters {
  /** Calls by entrance, then decision, then band. */
  readonly calls = new Map(
    entrances.map((entrance) => [entrance, new Map(decisions.map((it) => [it, new NamedCounts(bandNames)]))]),
  );
  readonly reasons = new Map(decisions.map((it) => [it, new NamedCounts(reasonNames)]));
  /** Failed authentications by entrance, then reason. */
  readonly authFailures = new Map(authEntrances.map((it) => [it, new NamedCounts(authReasons)]));
  /** Findings in answers by what became of the answers, then reason. */
  readonly answers = new Map(answerOutcomes.map((it) => [it, new NamedCounts(reasonNames)]));
  readonly messages = new NamedCounts(decisions);
  readonly wouldBe = new NamedCounts(decisions);
  unrecorded = 0;
  readonly judgement = new Histogram();
  readonly stages = new NamedHistograms();
  readonly upstream = new Histogram();
  readonly upstreamAnswers = new NamedCounts(['1xx', '2xx', '3xx', '4xx', '5xx']);
  readonly upstreamFailures = new NamedCounts(codes);
  readonly readerWait = new Histogram();
  readonly readerWork = new Histogram();
  readonly readerLost = new NamedCounts(['deadline', 'death'] satisfies Lost[]);
  readonly state = new Histogram();
  readonly stateOk = new Map<string, { ok: number; failed: number }>();
  journalProblems = 0;
  /** Spans for an OTLP endpoint by what became of them. */
  readonly spans = new NamedCounts(['exported', 'dropped']);

  /** Counts what was found in an answer. */
  countAnswer({ outcome, reason }: AnswerFinding): void {
    this.answers.get(outcome)?.add(reason);
  }

  /** Counts a call by its decision, or a message of an open call. */
  count({ received, verdict, risk }: CallSoFar, refusal: GatewayError | undefined): void {
    const decision = refusal ? 'DENY' : (verdict?.decision ?? 'DENY');
    if (received.message) this.messages.add(decision);
    else
      this.calls
        .get(received.entrance)
        ?.get(decision)
        ?.add(risk?.band ?? 'NONE');
    const reasons = this.reasons.get(decision);
    if (refusal) reasons?.add(refusal.code);
    else for (const code of verdict?.reasonCodes ?? noCodes) reasons?.add(code);
    if (verdict?.wouldBe) this.wouldBe.add(verdict.wouldBe);
  }
}

const noCodes: readonly string[] = [];
const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'];

/** Returns the class of a status, such as `2xx`; `OTHER` for a number that is no status. */
export const classOf = (status: number): string => classes[Math.floor(status / 100) - 1] ?? 'OTHER';
