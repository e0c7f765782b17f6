/** Says of a secret, as it stands in the text, whether it can be what its detector takes it for. */
export type SecretCheck = (text: string) => boolean;

export type Checks = Readonly<Record<string, SecretCheck>>;

export const digitsOf = (text: string): string => text.replace(/\D/g, '');
