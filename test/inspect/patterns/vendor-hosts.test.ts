import t from 'tap';
import { isVendorHost } from '../../../src/inspect/patterns/vendor-hosts.ts';

const cases: readonly (readonly [host: string, vendorHosts: readonly string[], isVendors: boolean])[] = [
  ['api.vendor.com', ['api.vendor.com'], true],
  ['API.vendor.com.evil.net', ['api.vendor.com'], false],
  ['a.b.vendor.com', ['*.vendor.com'], true],
  ['vendor.com', ['*.vendor.com'], false],
  ['evilvendor.com', ['*.vendor.com'], false],
  ['.vendor.com', ['api.vendor.com'], false],
  ['dynamodb.eu-west-1.amazonaws.com', ['*.amazonaws.com'], true],
  ['bucket.s3.eu-west-1.amazonaws.com', ['*.amazonaws.com'], true],
  ['ec2-18-1-2-3.compute-1.amazonaws.com', ['*.amazonaws.com'], false],
  ['ec2-18-1-2-3.eu-west-1.compute.amazonaws.com', ['*.amazonaws.com'], false],
  ['mine-1234.eu-west-1.elb.amazonaws.com', ['*.amazonaws.com'], false],
  ['mine-1234.elb.eu-west-1.amazonaws.com', ['*.amazonaws.com'], false],
  ['a1b2c3.execute-api.eu-west-1.amazonaws.com', ['*.amazonaws.com'], false],
  ['execute-api.eu-west-1.amazonaws.com', ['*.amazonaws.com'], true],
  ['mine.azurewebsites.net', ['*.azurewebsites.net'], false],
  ['mine.westeurope.cloudapp.azure.com', ['*.azure.com'], false],
];

t.test('knows the hosts of a vendor from those that its customers rent', (t) => {
  for (const [host, vendorHosts, isVendors] of cases)
    t.equal(isVendorHost(host, vendorHosts), isVendors, host);
  t.end();
});
