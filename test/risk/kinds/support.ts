import { type Kind, pauseMs, type Routine, type Step } from '../agent.ts';
import { prose, ticketPage } from '../texts.ts';

/* Agents that answer customers: what they read is personal, and so is much of what they write. */

const desk = 'https://acme.zendesk.com/api/v2';

const answerTicket: Routine = ({ random, customers }) => {
  const [customer, id] = [random.pick(customers), random.integer(20_000, 90_000)];
  const [first = ''] = customer.name.split(' ');
  const page = ticketPage(random, id, customer);
  const read: Step = { afterMs: 0, method: 'GET', url: `${desk}/tickets/${id}.json` };
  const quote = random.chance(0.25) ? `\n> ${page.ticket.description.slice(0, 200)}\n` : '';
  const contact = random.chance(0.15) ? ` We will call you at ${customer.phone}.` : '';
  const body = `Dear ${first}, ${prose(random, random.logNormal(300, 0.5))}${quote}${contact}`;
  return [
    random.chance(0.6) ? { ...read, answer: page } : read,
    { afterMs: pauseMs(random), method: 'GET', url: `${desk}/tickets/${id}/comments.json` },
    {
      afterMs: pauseMs(random) * 3,
      method: 'PUT',
      url: `${desk}/tickets/${id}.json`,
      body: { ticket: { comment: { body, public: true }, status: random.pick(['pending', 'solved']) } },
    },
  ];
};

const answerChat: Routine = ({ random, customers }) => {
  const [customer, id] = [random.pick(customers), random.integer(1_000_000, 9_000_000)];
  const url = `https://api.intercom.io/conversations/${id}`;
  const answer = { id, source: { author: customer, body: prose(random, 300) } };
  const turns = random.integer(1, 3);
  const replies = Array.from({ length: turns }, () => ({
    afterMs: pauseMs(random) * 2,
    method: 'POST',
    url: `${url}/reply`,
    body: {
      message_type: 'comment',
      type: 'admin',
      admin_id: 7,
      body: prose(random, random.logNormal(160, 0.6)),
    },
  }));
  return [{ afterMs: 0, method: 'GET', url, ...(random.chance(0.5) ? { answer } : {}) }, ...replies];
};

/** To the customer's own address, about the customer's own order; what was read of the customer before is as personal as the mail. */
const mailCustomer: Routine = ({ random, customers }) => {
  const customer = random.pick(customers);
  const [order, id] = [random.integer(1000, 9999), random.integer(20_000, 90_000)];
  const ticket: Step = { afterMs: pauseMs(random), method: 'GET', url: `${desk}/tickets/${id}.json` };
  const text = `Dear ${customer.name}, your order ${order} is on its way. ${prose(random, random.logNormal(400, 0.4))}`;
  return [
    {
      afterMs: 0,
      method: 'GET',
      url: `${desk}/users/search.json?query=${encodeURIComponent(customer.email)}`,
    },
    random.chance(0.4) ? { ...ticket, answer: ticketPage(random, id, customer) } : ticket,
    {
      afterMs: pauseMs(random) * 2,
      method: 'POST',
      url: 'https://api.sendgrid.com/v3/mail/send',
      body: {
        personalizations: [{ to: [{ email: customer.email, name: customer.name }] }],
        from: { email: 'help@acme.example' },
        subject: `Your order ${order}`,
        content: [{ type: 'text/plain', value: text }],
      },
    },
  ];
};

const lookAtQueue: Routine = ({ random }) => [
  {
    afterMs: 0,
    method: 'GET',
    url: `${desk}/search.json?query=${random.pick(['status:open', 'status:new'])}`,
  },
  { afterMs: pauseMs(random), method: 'GET', url: `${desk}/views/${random.integer(10, 14)}/tickets.json` },
];

export const support: Kind = {
  runtimeType: 'langchain',
  places: [],
  tokens: [],
  routines: [
    [5, answerTicket],
    [3, answerChat],
    [1, mailCustomer],
    [2, lookAtQueue],
  ],
};
