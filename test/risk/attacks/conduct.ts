import type { Random } from '../random.ts';
import { type Attack, at, repeated } from './attack.ts';

/* Calls that each agent may make, but not so many, not so fast, not at that hour. */

const base62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

export function conduct(random: Random): readonly Attack[] {
  const readCharge = () => ({
    method: 'GET',
    url: `https://api.stripe.com/v1/charges/ch_${random.text(base62, 24)}`,
  });
  const readFile = (number: number) => ({
    method: 'GET',
    url: `https://api.github.com/repos/acme/mobile/contents/src/part${number}.ts`,
  });
  const readTicket = (number: number) => ({
    method: 'GET',
    url: `https://acme.zendesk.com/api/v2/tickets/${60_000 + number}.json`,
  });
  const deleteBranch = (number: number) => ({
    method: 'DELETE',
    url: `https://api.github.com/repos/acme/infra/git/refs/heads/release-${number}`,
  });
  const deleteContact = (number: number) => ({
    method: 'DELETE',
    url: `https://api.hubapi.com/crm/v3/objects/contacts/${700_000 + number}`,
  });
  const burst = [{ signal: 'VOLUME_BURST' }];
  const oddHours = [{ signal: 'BASELINE_ANOMALY', details: /\b\d{1,2}:00 UTC/ }];
  const massAction = [{ signal: 'MASS_ACTION' }];
  // Each agent makes four to five calls in ten minutes in which it makes any.
  return [
    {
      name: 'burst of reads, finance',
      expected: burst,
      acts: [
        {
          agent: 'finance-invoices',
          atMs: at('thursday', '10:20'),
          steps: repeated(random, 60, 8_000, readCharge),
        },
      ],
    },
    {
      name: 'burst of reads, coding',
      expected: burst,
      acts: [
        {
          agent: 'coding-mobile',
          atMs: at('friday', '14:00'),
          steps: repeated(random, 60, 6_000, readFile),
        },
      ],
    },
    {
      name: 'odd hours, support',
      expected: oddHours,
      acts: [
        { agent: 'support-emea', atMs: at('friday', '2:40'), steps: repeated(random, 6, 60_000, readTicket) },
      ],
    },
    {
      name: 'odd hours, finance',
      expected: oddHours,
      acts: [
        {
          agent: 'finance-invoices',
          atMs: at('friday', '3:15'),
          steps: repeated(random, 4, 45_000, readCharge),
        },
      ],
    },
    {
      name: 'mass action, branches',
      expected: massAction,
      acts: [
        {
          agent: 'coding-infra',
          atMs: at('friday', '16:20'),
          steps: repeated(random, 14, 3_200, deleteBranch),
        },
      ],
    },
    {
      name: 'mass action, contacts',
      expected: massAction,
      acts: [
        {
          agent: 'marketing-events',
          atMs: at('thursday', '16:05'),
          steps: repeated(random, 13, 4_000, deleteContact),
        },
      ],
    },
  ];
}
