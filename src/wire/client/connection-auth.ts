import { fieldOf } from '../http1/field.ts';
import type { ResponseHead } from '../http1/head.ts';

/*
 * NTLM and Negotiate (RFC 4559) authenticate a connection, not a request: whoever asks next on it is taken
 * for the one before, without any credential. That may be another agent. So such a connection is kept only
 * while its challenge is being answered, which must happen on the same connection.
 */

const schemes = '(?:^|,)[\\t ]*(?:ntlm|negotiate)';
const asked = new RegExp(`${schemes}(?:[\\t ,]|$)`, 'i');
const challenge = new RegExp(`${schemes}[\\t ]+[^\\t ,]`, 'i');

/** Tells whether a request may authenticate its connection. `headers` is flat. */
export const authenticatesConnection = (headers: readonly string[]): boolean =>
  asked.test(fieldOf(headers, 'authorization'));

/**
 * Tells whether the answer asks for the next step of the authentication, which therefore has not happened.
 */
export const isUnderway = ({ status, fields }: ResponseHead): boolean =>
  status === 401 && challenge.test(fieldOf(fields, 'www-authenticate'));
