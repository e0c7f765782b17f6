const quotedLengthMax = 60;

/** What a message quotes of a text that may be long. */
export const shorten = (text: string): string =>
  text.length > quotedLengthMax ? `${text.slice(0, quotedLengthMax)}…` : text;
