import { type Kind, pauseMs, type Routine } from '../agent.ts';
import { prose } from '../texts.ts';

/* Agents that write invoices and look after payments. */

const stripe = 'https://api.stripe.com/v1';
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

const invoice: Routine = ({ random, customers }) => {
  const customer = random.pick(customers);
  const id = `cus_${random.text(alphanumeric, 14)}`;
  const body = new URLSearchParams({
    customer: id,
    description: prose(random, random.logNormal(60, 0.4)),
    auto_advance: 'true',
  });
  return [
    {
      afterMs: 0,
      method: 'GET',
      url: `${stripe}/customers/search?query=${encodeURIComponent(`email:'${customer.email}'`)}`,
    },
    { afterMs: pauseMs(random), method: 'GET', url: `${stripe}/invoices?customer=${id}&limit=10` },
    {
      afterMs: pauseMs(random) * 2,
      method: 'POST',
      url: `${stripe}/invoices`,
      headers: form,
      body: body.toString(),
    },
  ];
};

const refund: Routine = ({ random }) => {
  const charge = `ch_${random.text(alphanumeric, 24)}`;
  const body = new URLSearchParams({
    charge,
    amount: String(random.integer(500, 20_000)),
    reason: 'requested_by_customer',
  });
  return [
    { afterMs: 0, method: 'GET', url: `${stripe}/charges/${charge}` },
    {
      afterMs: pauseMs(random) * 2,
      method: 'POST',
      url: `${stripe}/refunds`,
      headers: form,
      body: body.toString(),
    },
  ];
};

const remind: Routine = ({ random, customers }) => {
  const customer = random.pick(customers);
  const number = random.integer(10_000, 99_999);
  return [
    { afterMs: 0, method: 'GET', url: `${stripe}/invoices?status=open&limit=20` },
    {
      afterMs: pauseMs(random) * 2,
      method: 'POST',
      url: 'https://api.sendgrid.com/v3/mail/send',
      body: {
        personalizations: [{ to: [{ email: customer.email, name: customer.name }] }],
        from: { email: 'billing@acme.example' },
        subject: `Invoice ${number}`,
        content: [
          {
            type: 'text/plain',
            value: `Dear ${customer.name}, ${prose(random, random.logNormal(300, 0.3))}`,
          },
        ],
      },
    },
  ];
};

const reconcile: Routine = ({ random }) =>
  Array.from({ length: random.integer(5, 8) }, (_, at) => ({
    afterMs: at === 0 ? 0 : random.integer(4_000, 9_000),
    method: 'GET',
    url: `${stripe}/${random.pick(['payouts', 'balance_transactions'])}?limit=100&starting_after=txn_${random.text(alphanumeric, 24)}`,
  }));

export const finance: Kind = {
  runtimeType: 'openai_assistants',
  places: [],
  tokens: [],
  routines: [
    [4, invoice],
    [2, refund],
    [1, remind],
  ],
  daily: reconcile,
};
