/**
 * Returns up to four keys, each written as `whsec_` and 24 to 64 bytes in base64; undefined for any other
 * text.
 */
export function readWebhookSecret(text: string): readonly Buffer[] | undefined {
  const keys = text
    .trim()
    .split(/ +/)
    .map((it) => /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(it)?.[1])
    .map((it) => Buffer.from(it ?? '', 'base64'));
  const isValid = keys.length <= 4 && keys.every((it) => it.length >= 24 && it.length <= 64);
  return isValid ? keys : undefined;
}
