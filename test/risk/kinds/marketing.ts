import { type Desk, type Kind, pauseMs, type Routine, type Step } from '../agent.ts';
import { customerPage, prose } from '../texts.ts';

/* Agents that look after contacts and campaigns. They send their own credentials, three of them in a short time. */

const crm = 'https://api.hubapi.com/crm/v3/objects';
export const enrichment = 'https://api.firm-facts.example/v2';

const bearer = ({ tokens }: Desk, name: string) => ({ authorization: `Bearer ${tokens[name]}` });

const post = (desk: Desk, afterMs: number): Step => ({
  afterMs,
  method: 'POST',
  url: 'https://slack.com/api/chat.postMessage',
  headers: bearer(desk, 'slack'),
  body: { channel: desk.random.pick(desk.places), text: prose(desk.random, desk.random.logNormal(140, 0.6)) },
});

const lookAfterContact: Routine = (desk) => {
  const { random } = desk;
  const customer = random.pick(desk.customers);
  const headers = bearer(desk, 'hubspot');
  const filters = [{ propertyName: 'email', operator: 'EQ', value: customer.email }];
  const search: Step = {
    afterMs: 0,
    method: 'POST',
    url: `${crm}/contacts/search`,
    headers,
    body: { filterGroups: [{ filters }], limit: 5 },
  };
  return [
    random.chance(0.4) ? { ...search, answer: customerPage(random, random.integer(1, 5)) } : search,
    {
      afterMs: pauseMs(random),
      method: 'GET',
      url: `${enrichment}/companies/find?domain=${customer.domain}`,
    },
    {
      afterMs: pauseMs(random),
      method: 'PATCH',
      url: `${crm}/contacts/${customer.id}`,
      headers,
      body: {
        properties: {
          company: customer.company,
          phone: customer.phone,
          notes: prose(random, random.logNormal(120, 0.7)),
        },
      },
    },
  ];
};

const addContact: Routine = (desk) => {
  const { random } = desk;
  const { name, email, phone, company } = random.pick(desk.customers);
  const [firstname, lastname] = name.split(' ');
  return [
    {
      afterMs: 0,
      method: 'POST',
      url: `${crm}/contacts`,
      headers: bearer(desk, 'hubspot'),
      body: { properties: { firstname, lastname, email, phone, company } },
    },
    post(desk, pauseMs(random)),
  ];
};

const campaign: Routine = (desk) => {
  const { random } = desk;
  const headers = bearer(desk, 'sendgrid');
  const html_content = `<p>${prose(random, random.logNormal(1_200, 0.4))}</p>`;
  return [
    { afterMs: 0, method: 'GET', url: 'https://api.sendgrid.com/v3/marketing/lists', headers },
    {
      afterMs: pauseMs(random) * 2,
      method: 'POST',
      url: 'https://api.sendgrid.com/v3/marketing/singlesends',
      headers,
      body: { name: prose(random, 30), email_config: { subject: prose(random, 30), html_content } },
    },
    post(desk, pauseMs(random)),
  ];
};

export const marketing: Kind = {
  runtimeType: 'crewai',
  places: ['C05MARKETING', 'C05CAMPAIGN', 'C05LAUNCHES', 'C05GENERAL0'],
  tokens: ['hubspot', 'sendgrid', 'slack'],
  routines: [
    [5, lookAfterContact],
    [2, addContact],
    [1, campaign],
    [2, (desk) => [post(desk, 0)]],
  ],
};
