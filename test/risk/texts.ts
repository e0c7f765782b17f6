import type { Random } from './random.ts';

/* What people write, and who they are: made up, and different each time. */

export interface Customer {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly phone: string;
  readonly company: string;
  readonly domain: string;
  readonly street: string;
}

const firstNames =
  'Anna Bruno Clara Daniel Elena Felix Greta Hugo Irene Jonas Katja Lukas Marta Nils Olga Paul Rosa Simon Tessa Viktor'.split(
    ' ',
  );
const lastNames =
  'Albrecht Bergmann Castell Drexler Engel Fontana Gruber Hofmann Ivanov Jansen Keller Lindner Moretti Novak Olsen Petersen Richter Sommer Tanner Vogel'.split(
    ' ',
  );
const companies =
  'northwind tailspin fabrikam litware adatum proseware wingtip lucerne woodgrove trey humongous margies'.split(
    ' ',
  );
const streets = 'Lindenstrasse Hauptstrasse Gartenweg Bahnhofstrasse Mozartgasse Schulweg'.split(' ');
const words =
  `the order was sent on time and the parcel should arrive before the weekend we have looked at the setting that you
  mention it is on the second page of the menu please restart the device and try again the update changes how drafts are shown in the list
  this graph is slow when many rows are read at once so we split the query in two a colleague from the other team will look at the part that
  is left thanks for the quick reply the new version is out since yesterday and has the button back where it was report plan invoice page
  table chart budget meeting review branch release deploy metric alert dashboard`
    .split(/\s+/)
    .filter((it) => it !== '');

/** Plain words of about so many characters. */
export function prose(random: Random, chars: number): string {
  let text = '';
  while (text.length < chars) {
    const sentence = Array.from({ length: random.integer(5, 14) }, () => random.pick(words)).join(' ');
    text += `${text === '' ? '' : ' '}${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}.`;
  }
  return text;
}

export function newCustomer(random: Random): Customer {
  const [first, last] = [random.pick(firstNames), random.pick(lastNames)];
  const company = random.pick(companies);
  const domain = `${company}.example`;
  return {
    id: random.integer(100_000, 999_999),
    name: `${first} ${last}`,
    email: `${first}.${last}@${domain}`.toLowerCase(),
    phone: `+49 30 ${random.integer(2_000_000, 8_999_999)}`,
    company: `${company.slice(0, 1).toUpperCase()}${company.slice(1)} GmbH`,
    domain,
    street: `${random.pick(streets)} ${random.integer(1, 120)}`,
  };
}

/** A page of a customer file, as an API answers it. */
export const customerPage = (random: Random, count: number): { results: readonly Customer[] } => ({
  results: Array.from({ length: count }, () => newCustomer(random)),
});

/** A ticket as the help desk answers it: who asks, and what. */
export const ticketPage = (random: Random, id: number, { name, email, phone, company }: Customer) => ({
  ticket: {
    id,
    subject: prose(random, 40),
    description: prose(random, random.logNormal(500, 0.5)),
    requester: { name, email, phone, organization: company },
    status: random.pick(['new', 'open', 'pending']),
  },
});
