import { z } from 'zod';
import type { NotificationConfig } from '../../config/schema.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Gate } from '../../decision/gate.ts';
import { plain, toTime } from '../../notify/brief.ts';
import { toDecidedSlack, toNoteSlack } from '../../notify/channels/slack.ts';
import { outcomeOfAnswer, outcomeOfFailure } from '../../notify/outcome.ts';
import { type Button, buttonActions, isSignedBySlack, readButton } from '../../notify/slack-callback.ts';
import type { ApprovalRecord } from '../../state/store.ts';
import type { FieldsByName } from '../../wire/http1/field.ts';
import { settleApproval } from '../decide-approval.ts';
import { missing } from '../fields/fields.ts';
import { invalid } from '../fields/invalid.ts';
import { routesOf } from '../route.ts';

const route = routesOf('approvals');

/** Bytes that a form may have. A message with its buttons has some kilobytes, and comes back whole. */
const formBytesMax = 131_072;
/**
 * Milliseconds for telling Slack the outcome. Slack waits three seconds for its answer, and then shows an
 * error to whoever has pressed the button.
 */
const replyTimeoutMs = 2000;
/** The only host to which a form may have the gateway answer. */
const replyHost = 'hooks.slack.com';

const interaction = z.object({
  type: z.literal('block_actions'),
  user: z.object({
    id: z.string().regex(/^[A-Z0-9]{1,32}$/),
    username: z.string().nullish(),
    name: z.string().nullish(),
  }),
  team: z.object({ id: z.string().max(32) }).nullish(),
  response_url: z.string().max(2048).nullish(),
  actions: z.array(z.object({ action_id: z.string(), value: z.string().nullish() })).min(1),
});

type Interaction = z.infer<typeof interaction>;

/**
 * `POST /v1/integrations/slack/interactions` decides an approval whose button somebody has pressed. Slack's
 * signature stands for the key. It is verified with the secret of the channel that the button was sent to. A
 * request counts once, and reaches no other tenant than the channel does.
 */
export const slackInteractions = route('POST /v1/integrations/slack/interactions', {
  summary: 'Take what is pressed in Slack',
  access: 'public',
  takesForm: true,
  bodyBytesMax: formBytesMax,
  body: z.object({ payload: z.string() }),
  answer: z.object({
    response_type: z.literal('ephemeral'),
    replace_original: z.literal(false),
    text: z.string(),
  }),
  async handle({ gate, body, raw, headers, nowMs, signal }) {
    const pressed = readInteraction(body.payload);
    const { decision, button } = decisionOf(pressed);
    const channel = verifiedChannel(gate, button, headers, raw);
    await checkFresh(gate, button, headers, nowMs);
    const approval = await gate.store.approvalById(button.tenantId, button.approvalId, nowMs);
    if (!approval) throw missing('approval');
    const decided = await settleApproval(gate, approval, {
      decision,
      operator: nameOf(pressed),
      note: null,
      scope: 'once',
      nowMs,
      details: { channel: channel.name, slack_team: pressed.team?.id ?? null },
    });
    if (!decided) throw missing('approval');
    const note = toNoteSlack(standingOf(decided.approval, decided.isDecidedNow));
    const replies = decided.isDecidedNow ? [] : [note];
    await reply(gate, channel, pressed, [toOutcome(decided.approval), ...replies], signal());
    return note;
  },
});

function readInteraction(payload: string): Interaction {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    // The message of the parser quotes the text.
    throw malformed('is not valid JSON');
  }
  const read = interaction.safeParse(value);
  if (!read.success) throw malformed('is not that of a button');
  return read.data;
}

function decisionOf({ actions }: Interaction): { decision: 'approved' | 'denied'; button: Button } {
  const [action] = actions;
  const button = readButton(action?.value ?? '');
  for (const decision of ['approved', 'denied'] as const)
    if (button && action?.action_id === buttonActions[decision]) return { decision, button };
  throw malformed('is of an action that is not known here');
}

const malformed = (message: string): GatewayError => invalid([{ path: 'payload', message }]);

const timestampOf = (headers: FieldsByName): string => headers['x-slack-request-timestamp'] ?? '';
const signatureOf = (headers: FieldsByName): string => headers['x-slack-signature'] ?? '';

/**
 * Returns the channel that the button was sent to. Throws where Slack has not signed the request with the
 * secret of that channel.
 */
function verifiedChannel(
  { config, throttles }: Gate,
  button: Button,
  headers: FieldsByName,
  raw: Buffer,
): NotificationConfig {
  const channel = config.notifications.find((it) => it.type === 'slack' && it.name === button.channel);
  const signed = { timestamp: timestampOf(headers), signature: signatureOf(headers) };
  if (!channel || channel.signingSecret === null || !isSignedBySlack(channel.signingSecret, signed, raw)) {
    throttles.note('api', 'signature');
    throw new GatewayError('INVALID_KEY', 'The request is not signed with the secret of a Slack channel.');
  }
  // An approval of another tenant counts as missing.
  if (channel.tenantId !== null && channel.tenantId !== button.tenantId) throw missing('approval');
  return channel;
}

/** Throws REPLAYED where the request lies outside the tenant's window, or was seen before. */
async function checkFresh(
  { store, tenants }: Gate,
  { channel, tenantId }: Button,
  headers: FieldsByName,
  nowMs: number,
): Promise<void> {
  const tenant = await tenants.learn(tenantId);
  if (!tenant) throw missing('approval');
  const timestamp = timestampOf(headers);
  const atMs = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1000 : Number.NaN;
  const { replayWindowMs } = tenant;
  if (!(Math.abs(nowMs - atMs) <= replayWindowMs))
    throw new GatewayError('REPLAYED', 'The timestamp lies outside the window.');
  const endsAtMs = Math.max(nowMs, atMs) + replayWindowMs + 1000;
  if (!(await store.claimNonce(tenantId, `slack:${channel}`, signatureOf(headers), nowMs, endsAtMs)))
    throw new GatewayError('REPLAYED', 'The request was seen before.');
}

/** Returns the person as record and audit log name them: Slack's id, and the name that the user chose. */
function nameOf({ user }: Interaction): string {
  const name = plain(user.username ?? user.name ?? '', 64);
  return name === '' ? `slack:${user.id}` : `slack:${user.id} (${name})`;
}

function standingOf({ status, decidedBy, decidedAtMs }: ApprovalRecord, isDecidedNow: boolean): string {
  if (isDecidedNow) return `You have ${status} this call.`;
  const by = decidedBy === null ? '' : ` by ${decidedBy}`;
  const at = decidedAtMs === null ? '' : `, ${toTime(decidedAtMs)}`;
  return `This call is ${status} already${by}${at}.`;
}

/** Returns the message that takes the place of the buttons. */
function toOutcome(it: ApprovalRecord): object {
  const facts = [
    { label: 'Decided by', value: it.decidedBy },
    { label: 'Time', value: it.decidedAtMs === null ? null : toTime(it.decidedAtMs) },
    { label: 'Agent', value: it.agentName },
    { label: 'Tool', value: `${it.toolName} ${it.operation}` },
    { label: 'Risk', value: it.riskBand },
    { label: 'Trace', value: it.traceId },
    { label: 'Approval', value: it.approvalId },
  ];
  return toDecidedSlack(
    `Call ${it.status}`,
    plain(`${it.agentName}: ${it.method} ${it.url}`, 300),
    facts.flatMap(({ label, value }) => (value === null ? [] : [{ label, value: plain(value, 200) }])),
  );
}

/** Tells Slack what became of the approval. The decision stands whether or not this arrives. */
async function reply(
  { transport, log }: Gate,
  channel: NotificationConfig,
  { response_url: url }: Interaction,
  bodies: readonly object[],
  leaving: AbortSignal,
): Promise<void> {
  if (typeof url !== 'string') return;
  if (!isReplyUrl(url)) {
    log.warn(
      { channel: channel.name },
      'a Slack interaction asks for an answer at another host; none is sent',
    );
    return;
  }
  const signal = AbortSignal.any([leaving, AbortSignal.timeout(replyTimeoutMs)]);
  const headers = { 'Content-Type': 'application/json; charset=utf-8' };
  for (const body of bodies) {
    const outcome = await transport
      .post({ url, headers, body: JSON.stringify(body) }, channel, signal)
      .then((it) => outcomeOfAnswer(it.status, undefined, 0), outcomeOfFailure);
    if (outcome.kind !== 'delivered')
      log.warn({ channel: channel.name, reason: outcome.reason }, 'Slack was not told of a decision');
  }
}

function isReplyUrl(text: string): boolean {
  const url = URL.parse(text);
  return url?.origin === `https://${replyHost}` && url.username === '' && url.password === '';
}
