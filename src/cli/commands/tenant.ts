import type { Command } from 'commander';
import { showList } from '../ask.ts';

const columns = ['tenant_id', 'name', 'plan', 'environments', 'mode', 'is_configured', 'suspended'];

/** Adds `postern tenant`, for tenants of the configuration and those registered by minting a key for them. */
export function addTenant(program: Command): void {
  program
    .command('tenant')
    .alias('tenants')
    .description('tenants, whose agents and keys are apart')
    .command('list')
    .description('list the tenants that are served')
    .action(showList('/v1/tenants', columns));
}
