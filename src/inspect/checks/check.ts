/** Tells whether a secret, as it stands in the text, can be what its detector takes it for. */
export type SecretCheck = (text: string) => boolean;

export type Checks = Readonly<Record<string, SecretCheck>>;

export const digitsOf = (text: string): string => text.replace(/\D/g, '');

/** Returns the letters and digits of a text, in capitals. */
export const compactOf = (text: string): string => text.toUpperCase().replace(/[^0-9A-Z]/g, '');
