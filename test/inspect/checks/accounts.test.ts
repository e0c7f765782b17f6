import t from 'tap';
import { accountChecks } from '../../../src/inspect/checks/accounts.ts';

const table: Record<keyof typeof accountChecks, { yes: readonly string[]; no: readonly string[] }> = {
  'aws-account': {
    yes: ['356104386285', '3561-0438-6285', '001234567891'],
    // Of the documentation, of an emulator, of the images of EKS, too short, too long.
    no: ['123456789012', '1111-2222-3333', '000000000000', '602401143452', '35610438628', '3561043862850'],
  },
  'gcp-project': {
    yes: ['payments-prod-418207', 'ledger-eu1', '418207664310'],
    // Words alone, of the documentation, an example, a dash at the end, a number of the documentation.
    no: ['angular', 'my-project-123456', 'example-1', 'ledger-1-', '123456789012'],
  },
  'ticket-key': { yes: ['PLAT-4821', 'P2P-100'], no: ['plat-4821', 'Fig-120'] },
};

for (const [name, { yes, no }] of Object.entries(table) as [
  keyof typeof accountChecks,
  { yes: string[]; no: string[] },
][]) {
  t.test(`${name} tells what is somebody's own from what is nobody's`, async (t) => {
    for (const text of yes) t.ok(accountChecks[name](text), text);
    for (const text of no) t.notOk(accountChecks[name](text), text);
  });
}
