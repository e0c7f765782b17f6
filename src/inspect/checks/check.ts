/** Tells whether a secret, as it stands in the text, can be what its detector takes it for. */
export type SecretCheck = (text: string) => boolean;

export type Checks = Readonly<Record<string, SecretCheck>>;

export const digitsOf = (text: string): string => text.replace(/\D/g, '');
