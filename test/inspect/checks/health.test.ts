import t from 'tap';
import { healthChecks } from '../../../src/inspect/checks/health.ts';

const table: Record<keyof typeof healthChecks, { yes: readonly string[]; no: readonly string[] }> = {
  npi: {
    // The example of CMS' description of the check digit, and one by its formula.
    yes: ['1234567893', '1993999998'],
    // Another check digit, neither a person nor an organisation, too short, too long.
    no: ['1234567894', '3234567895', '123456789', '12345678930'],
  },
  dea: {
    yes: ['F91234563', 'AP5836727', 'BB-6432683'],
    no: ['F91234564', 'AP5836728', 'AP583672', 'AP0000000'],
  },
  'australian-health-id': {
    yes: ['8003 6012 3456 7894', '8003601234567894'],
    // Another check digit, another issuer, no kind of holder.
    no: ['8003601234567895', '8004601234567893', '8003701234567891'],
  },
  'ontario-health-number': {
    yes: ['9876 543 217', '9876-543-217-YM'],
    no: ['9876543218', '0876543215', '987654321', '1111111111'],
  },
  'bc-health-number': { yes: ['9234567905', '9234 567 905'], no: ['9234567906', '8234567905', '923456790'] },
  'quebec-health-number': {
    // A woman's month has 50 added.
    yes: ['TREM 8053 1218', 'LAVJ85030112'],
    no: ['TREM 8063 3218', 'TREM 8000 1218', 'TREM 8053 3218', 'TREM 8053 121'],
  },
  'health-card': {
    yes: ['80756012345678901237', '80756 0123 4567 8901237'],
    no: ['80756012345678901238', '81756012345678901236', '8075601234567890123'],
  },
  // Haemoglobin A1c, creatinine, glucose.
  loinc: { yes: ['4548-4', '2160-0', '2345-7'], no: ['4548-5', '2160-1', '2345-8'] },
  // Diabetes mellitus, hypertensive disorder; a number whose sum is right but which is no concept's.
  snomed: { yes: ['73211009', '38341003'], no: ['73211008', '38341004', '732110099'] },
};

for (const [name, { yes, no }] of Object.entries(table) as [
  keyof typeof healthChecks,
  { yes: string[]; no: string[] },
][]) {
  t.test(`${name} tells what can be one from what cannot`, (t) => {
    for (const text of yes) t.ok(healthChecks[name](text), text);
    for (const text of no) t.notOk(healthChecks[name](text), text);
    t.end();
  });
}
