import { createHmac, timingSafeEqual } from 'node:crypto';

/* Reads the request that Slack sends when somebody presses a button. */

/** The value of a button. Nothing in it is secret, since whoever sees the message in Slack's API sees it. */
export interface Button {
  /** Name of the channel that has the button. The channel's signing secret verifies what comes back. */
  readonly channel: string;
  readonly tenantId: string;
  readonly approvalId: string;
}

/** `action_id` of the buttons, by what they decide. */
export const buttonActions = { approved: 'postern_approve', denied: 'postern_deny' } as const;

/** Returns the text of a button. None of its three parts can have a slash. */
export const writeButton = ({ channel, tenantId, approvalId }: Button): string =>
  `${channel}/${tenantId}/${approvalId}`;

const written =
  /^([A-Za-z0-9._-]{1,64})\/([A-Za-z0-9_-]{1,64})\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Returns the button of a text; undefined where no button of the gateway has it. */
export function readButton(value: string): Button | undefined {
  const [, channel, tenantId, approvalId] = written.exec(value) ?? [];
  if (channel === undefined || tenantId === undefined || approvalId === undefined) return undefined;
  return { channel, tenantId, approvalId };
}

/** Tells in constant time whether Slack signed body and time, by HMAC-SHA256 over `v0:timestamp:body`. */
export function isSignedBySlack(
  signingSecret: string,
  { timestamp, signature }: { readonly timestamp: string; readonly signature: string },
  body: Buffer,
): boolean {
  const expected = createHmac('sha256', signingSecret).update(`v0:${timestamp}:`).update(body).digest();
  const hex = /^v0=([0-9a-f]{64})$/.exec(signature)?.[1];
  return hex !== undefined && timingSafeEqual(Buffer.from(hex, 'hex'), expected);
}
