import { entriesOf, type Mapping } from '../written.ts';
import { checkBodyLimits } from './check-body-limits.ts';
import { checkAgents, checkDuplicates, checkOwners, checkPlans, readTenants } from './check-names.ts';
import {
  checkBands,
  checkBudgets,
  checkCredential,
  checkDaemon,
  checkInbound,
  checkNotification,
  checkTool,
} from './check-sections.ts';
import type { UnplacedMistake } from './issues.ts';
import type { Environment } from './references.ts';

/*
 * Finds mistakes that one value alone cannot show: names that lead nowhere or are given twice, wrong orders,
 * and options that exclude each other. These checks read the file as it was written, not what the schema made
 * of it. So one wrong value does not hide the other mistakes. A value of the wrong type is passed over here,
 * since the schema has reported it.
 */

/** Returns the mistakes between the values of a file. `root` is its content with references resolved. */
export function checkConfig(root: Mapping, env: Environment): readonly UnplacedMistake[] {
  const tenants = readTenants(root);
  return [
    ...checkDuplicates(root),
    ...checkPlans(root),
    ...checkOwners(root, tenants),
    ...checkAgents(root, tenants),
    ...checkBands(root),
    ...checkDaemon(root, env),
    ...checkBudgets(root),
    ...checkBodyLimits(root),
    ...entriesOf(root, 'credentials').flatMap(checkCredential),
    ...entriesOf(root, 'inbound').flatMap(checkInbound),
    ...entriesOf(root, 'notifications').flatMap(checkNotification),
    ...entriesOf(root, 'tools').flatMap(checkTool),
  ];
}
