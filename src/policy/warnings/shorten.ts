const quotedLengthMax = 60;

/** Shortens a text that may be long, for a message that quotes it. */
export const shorten = (text: string): string =>
  text.length > quotedLengthMax ? `${text.slice(0, quotedLengthMax)}…` : text;
