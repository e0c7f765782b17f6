/*
 * Tells which hosts are a vendor's: those where the vendor's own program answers, also for its customers.
 * `shop.myshopify.com` is Shopify, whoever owns the shop. Under the same domains clouds host machines and
 * functions of customers, who read what arrives; no credential belongs there.
 */

/**
 * Hosts that anybody can rent. They belong to EC2, Elastic Load Balancing and API Gateway, to App Service and
 * virtual machines, and to Function Compute.
 */
const customersHosts = [
  '*.compute.amazonaws.com',
  '*.compute-1.amazonaws.com',
  '*.elb.amazonaws.com',
  '*.elb.*.amazonaws.com',
  '*.execute-api.*.amazonaws.com',
  '*.azurewebsites.net',
  '*.cloudapp.azure.com',
  '*.cloudapp.net',
  '*.azurecontainer.io',
  '*.fc.aliyuncs.com',
];

/** Tells whether a host is the vendor's: `api.x.com`, or any depth below x.com for `*.x.com`. */
export function isVendorHost(host: string, vendorHosts: readonly string[]): boolean {
  return vendorHosts.some((home) => fits(host, home)) && !customersHosts.some((rented) => fits(host, rented));
}

/** Tells whether a host fits a pattern. A `*` in front stands for one label or more, elsewhere for one. */
function fits(host: string, pattern: string): boolean {
  if (!pattern.includes('*')) return host === pattern;
  const labels = host.split('.').toReversed();
  const wanted = pattern.slice('*.'.length).split('.').toReversed();
  return labels.length > wanted.length && wanted.every((label, at) => label === '*' || label === labels[at]);
}
