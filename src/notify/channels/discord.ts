import type { Band } from '../../core/call.ts';
import { type Brief, toBrief } from '../brief.ts';
import type { Channel } from '../channel.ts';
import { postTo } from '../outcome.ts';

/*
 * Writes a message for Discord as one embed. Each character that is neither letter, digit nor space gets a
 * backslash, so that no text is markup or a link. Nobody is mentioned, whatever the text says.
 */

const colours: Readonly<Record<Band, number>> = {
  LOW: 0x6b7280,
  MEDIUM: 0xd97706,
  HIGH: 0xdc2626,
  CRITICAL: 0x7f1d1d,
};

/** Escapes a text. The result is at most twice as long. */
const escapeDiscord = (text: string): string => text.replace(/[!-/:-@[-`{-~]/g, '\\$&');

/**
 * Returns the message. Discord takes descriptions of 4,096 characters, 25 fields with names of 256 and values
 * of 1,024, and 6,000 characters in all.
 */
export function toDiscord({ title, severity, summary, facts, hint }: Brief, atMs: number): object {
  return {
    username: 'Postern',
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: `${severity}: ${title}`,
        description: escapeDiscord(summary),
        color: colours[severity],
        timestamp: new Date(atMs).toISOString(),
        fields: facts.map(({ label, value }) => ({
          name: label,
          value: escapeDiscord(value),
          inline: value.length <= 40,
        })),
        ...(hint === undefined ? {} : { footer: { text: `Decide: ${hint}` } }),
      },
    ],
  };
}

export const discord: Channel = {
  type: 'discord',
  send: (message, channel, context) =>
    postTo(channel, context, () => ({
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(toDiscord(toBrief(message), message.notice.atMs)),
    })),
};
