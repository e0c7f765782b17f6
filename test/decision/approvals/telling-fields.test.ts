import t from 'tap';
import { isTelling } from '../../../src/decision/approvals/telling-fields.ts';

const telling = [
  ...['Destination', 'Overwrite', 'Depth', 'SOAPAction', 'Content-Range', 'Prefer', 'Content-Profile'],
  ...['Dropbox-API-Arg', 'dropbox_api_arg', 'Dropbox-API-Select-User', 'X-Bz-File-Name', 'Impersonate-User'],
  ...['x-amz-copy-source', 'x-amz-acl', 'x-amz-tagging', 'x-amz-bypass-governance-retention'],
  ...['x-ms-delete-snapshots', 'x-ms-range', 'x-ms-page-write', 'x-ms-copy-source-authorization'],
  ...['x-goog-user-project', 'x-goog-upload-command', 'x-amz-copy-source-if-none-match', 'x-amz-target'],
  ...[
    'Stripe-Account',
    'Xero-Tenant-Id',
    'X-Org-ID',
    'X-Scope-OrgID',
    'OpenAI-Project',
    'Harvest-Account-Id',
  ],
  ...['X-Hasura-Role', 'X-ClickHouse-Database', 'X-Workspace-Slug', 'X-Vault-Namespace'],
  ...['X-Copy-From', 'X-Container-Read', 'X-Object-Manifest', 'X-Account-Meta-Temp-URL-Key', 'X-Delete-At'],
  ...['Content-Disposition', 'Slug', 'X-File-Name', 'Upload-Metadata', 'X-Upsert'],
  ...['Sudo', 'As-User', 'X-Act-As', 'X-Mailgun-On-Behalf-Of', 'X-Impersonate-User', 'X-Forwarded-User'],
];

/** Of each attempt: with one of these no call would ever meet its grant. */
const ofAttempt = [
  ...['Authorization', 'Cookie', 'Date', 'User-Agent', 'Accept', 'Idempotency-Key', 'If-Match', 'X-Api-Key'],
  ...['X-Request-Id', 'X-Correlation-Id', 'traceparent', 'tracestate', 'baggage', 'sentry-trace', 'b3'],
  ...['X-Amzn-Trace-Id', 'X-Cloud-Trace-Context', 'X-B3-TraceId', 'x-datadog-parent-id', 'uber-trace-id'],
  ...['amz-sdk-invocation-id', 'amz-sdk-request', 'x-amz-date', 'x-amz-security-token', 'x-amz-user-agent'],
  ...['x-amz-content-sha256', 'x-amz-trailer', 'x-amz-checksum-crc32', 'x-amz-meta-mtime', 'x-amz-mfa'],
  ...['x-goog-api-client', 'x-goog-api-key', 'x-goog-date', 'x-goog-gcs-idempotency-token'],
  ...['x-ms-date', 'x-ms-client-request-id', 'x-ms-correlation-request-id', 'x-ms-version', 'x-ms-lease-id'],
  ...['x-stainless-retry-count', 'X-Session-Id', 'Mcp-Session-Id', 'X-GitHub-Api-Version', 'Stripe-Version'],
];

t.test('tells headers that say what is done from those of an attempt', async (t) => {
  for (const name of telling) t.ok(isTelling(name), name);
  for (const name of ofAttempt) t.notOk(isTelling(name), name);
});
