/*
 * Names below which strangers get names, and which the public suffix list does not have. Whoever gets one may
 * read what is sent there. Each group names the page that says how the names are made. Whether an owner has
 * the first label below, the second one, or the whole name differs: regions stand between, and addresses have
 * dots.
 */

/** An owner has the whole name: it has an address in it, or says nothing of whose it is. */
const whole = Number.POSITIVE_INFINITY;

/** Suffixes, and how many labels below make an owner. */
const sharedSuffixes: ReadonlyMap<string, number> = new Map([
  // Addresses as names: https://nip.io, https://sslip.io, https://traefik.me
  ['nip.io', whole],
  ['sslip.io', whole],
  ['xip.io', whole],
  ['traefik.me', whole],
  // Namespaces: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
  ['svc.cluster.local', 1],
  ['pod.cluster.local', 1],
  // Below a region: https://learn.microsoft.com/azure/virtual-network/ip-services/public-ip-addresses
  ['cloudapp.azure.com', 2],
  // Below a region: https://learn.microsoft.com/azure/container-apps/ingress-overview
  ['azurecontainerapps.io', 2],
  // Below `hcp` or a private zone, and a region: https://learn.microsoft.com/azure/aks/private-clusters
  ['azmk8s.io', 3],
  // Workflows of many customers share a host:
  // https://learn.microsoft.com/azure/connectors/connectors-native-reqres
  ['logic.azure.com', whole],
  // Below a region: https://learn.microsoft.com/azure/developer/dev-tunnels/overview
  ['devtunnels.ms', 2],
  // https://docs.github.com/codespaces/developing-in-a-codespace/forwarding-ports-in-your-codespace
  ['github.dev', 1],
  ['app.github.dev', 1],
  // Machines by their address, content of users, and scripts:
  // https://cloud.google.com/compute/docs/instances/create-ptr-record,
  // https://developers.google.com/apps-script/guides/web
  ['googleusercontent.com', whole],
  ['script.google.com', whole],
  // Machines by their address: https://docs.vultr.com, https://www.alibabacloud.com/help/functioncompute
  ['vultrusercontent.com', whole],
  ['fcapp.run', 2],
  // Functions and sandboxes: https://modal.com/docs/guide/webhook-urls, https://e2b.dev/docs,
  // https://docs.runpod.io, https://www.daytona.io/docs, https://www.gitpod.io/docs,
  // https://webcontainers.io, https://www.gradio.app/guides
  ['modal.run', 1],
  ['modal.host', whole],
  ['e2b.dev', 1],
  ['proxy.runpod.net', 1],
  ['daytona.app', whole],
  ['proxy.daytona.works', 1],
  ['gitpod.io', whole],
  ['stackblitz.io', whole],
  ['webcontainer.io', whole],
  ['gradio.live', 1],
  // Workflows: https://docs.n8n.io, https://pipedream.com/docs, https://zapier.com/help,
  // https://help.make.com
  ['n8n.cloud', 1],
  ['app.n8n.cloud', 1],
  ['pipedream.net', whole],
  ['zapier.app', 1],
  ['hooks.zapier.com', whole],
  ...['eu1', 'eu2', 'us1', 'us2'].map((zone) => [`hook.${zone}.make.com`, whole] as const),
  // Tunnels: https://localtunnel.me, https://pinggy.io/docs, https://serveo.net, https://localhost.run/docs,
  // https://docs.zrok.io, https://playit.gg/support, https://localxpose.io/docs, https://docs.packetriot.com
  ['loca.lt', 1],
  ['localtunnel.me', 1],
  ['pinggy.link', whole],
  ['pinggy.online', whole],
  ['serveo.net', whole],
  ['localhost.run', whole],
  ['lhr.life', 1],
  ['lhr.rocks', 1],
  ['zrok.io', whole],
  ['ply.gg', whole],
  ['playit.gg', whole],
  ['loclx.io', whole],
  ['packetriot.net', 1],
  ['tunnelto.dev', 1],
  ['cfargotunnel.com', 1],
  // Their owners show incoming requests to whoever made the name: https://beeceptor.com/docs,
  // https://requestcatcher.com, https://docs.webhook.site, https://hookdeck.com/docs,
  // https://portswigger.net/burp/documentation/collaborator, https://github.com/projectdiscovery/interactsh
  ['beeceptor.com', whole],
  ['requestcatcher.com', 1],
  ['webhook.site', whole],
  ['hookdeck.com', whole],
  ['oastify.com', whole],
  ['burpcollaborator.net', whole],
  ['interact.sh', whole],
  ...['pro', 'live', 'site', 'online', 'fun', 'me'].map((top) => [`oast.${top}`, whole] as const),
]);

/** Returns the part of a host that is one owner's, by the list; undefined if it is below none of it. */
export function sharedOwner(host: string): string | undefined {
  const labels = host.split('.');
  for (let at = 0; at < labels.length; at += 1) {
    const count = sharedSuffixes.get(labels.slice(at).join('.'));
    if (count !== undefined) return labels.slice(Math.max(0, at - count)).join('.');
  }
  return undefined;
}
