/*
 * Hosts that half of the world's programs call. A feed that names such a host alone means a page on it. Such
 * an entry is dropped, while entries for pages of the host count. Domains under which strangers get a
 * subdomain (`github.io`, `workers.dev`) are in the public suffix list.
 */

const names = `
  google.com accounts.google.com drive.google.com docs.google.com sites.google.com mail.google.com storage.googleapis.com googleapis.com
  oauth2.googleapis.com gmail.googleapis.com generativelanguage.googleapis.com googleusercontent.com gstatic.com youtube.com goo.gl forms.gle
  microsoft.com login.microsoftonline.com graph.microsoft.com microsoftonline.com live.com office.com office365.com outlook.com
  sharepoint.com onedrive.live.com 1drv.ms windows.net azure.com azurewebsites.net visualstudio.com dev.azure.com bing.com linkedin.com
  amazon.com amazonaws.com aws.amazon.com s3.amazonaws.com cloudfront.net apple.com icloud.com cloudflare.com api.cloudflare.com
  github.com api.github.com gist.github.com codeload.github.com raw.githubusercontent.com objects.githubusercontent.com
  githubusercontent.com uploads.github.com gitlab.com bitbucket.org api.bitbucket.org atlassian.com atlassian.net api.atlassian.com
  npmjs.com npmjs.org registry.npmjs.org pypi.org files.pythonhosted.org crates.io rubygems.org docker.com docker.io
  registry-1.docker.io ghcr.io debian.org ubuntu.com archive.org wikipedia.org en.wikipedia.org wikimedia.org
  openai.com api.openai.com anthropic.com api.anthropic.com huggingface.co openrouter.ai api.mistral.ai api.cohere.ai
  slack.com hooks.slack.com api.slack.com discord.com discordapp.com cdn.discordapp.com telegram.org api.telegram.org t.me whatsapp.com
  zoom.us notion.so api.notion.com dropbox.com api.dropboxapi.com dropboxusercontent.com dl.dropboxusercontent.com box.com mega.nz
  wetransfer.com mediafire.com pastebin.com bit.ly tinyurl.com t.co x.com twitter.com api.x.com api.twitter.com facebook.com
  graph.facebook.com instagram.com reddit.com stripe.com api.stripe.com paypal.com api.paypal.com salesforce.com hubspot.com
  api.hubapi.com zendesk.com twilio.com api.twilio.com sendgrid.com api.sendgrid.com mailchimp.com shopify.com wordpress.com
  blogspot.com medium.com weebly.com wix.com sentry.io datadoghq.com fastly.net akamaihd.net jsdelivr.net cdn.jsdelivr.net unpkg.com
  1.1.1.1 1.0.0.1 8.8.8.8 8.8.4.4 9.9.9.9 208.67.222.222 208.67.220.220
`;

const shared: ReadonlySet<string> = new Set(names.trim().split(/\s+/));

/** Tells whether unrelated owners share this host, with `www.` or without. */
export const isSharedHost = (host: string): boolean =>
  shared.has(host.startsWith('www.') ? host.slice('www.'.length) : host);
