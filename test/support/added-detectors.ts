/** A detector that an operator adds, with nothing but what it must have. */
export const customer = `id: acme-customer
class: PII
pattern: 'ACME-[0-9]{8}(?![0-9])'
examples: { match: ['customer ACME-12345678'], pass: ['ACME-1234567'] }
`;
