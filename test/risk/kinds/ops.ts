import { type Desk, type Kind, pauseMs, type Routine, type Step } from '../agent.ts';
import { prose } from '../texts.ts';

/* Agents that keep machines running. */

const cluster = 'https://ACME01.gr7.eu-west-1.eks.amazonaws.com'.toLowerCase();
const pagerDuty = 'https://api.pagerduty.com';
const headers = { 'content-type': 'application/x-www-form-urlencoded' };

/** A call of one of the services of AWS that take forms. */
export const awsStep = (afterMs: number, host: string, fields: Readonly<Record<string, string>>): Step => ({
  afterMs,
  method: 'POST',
  url: `https://${host}/`,
  headers,
  body: new URLSearchParams({ Version: '2010-05-08', ...fields }).toString(),
});

const namespaceOf = ({ random, places }: Desk): string =>
  `${cluster}/api/v1/namespaces/${random.pick(places)}`;

const look: Routine = (desk) => [
  { afterMs: 0, method: 'GET', url: `${namespaceOf(desk)}/pods` },
  { afterMs: pauseMs(desk.random), method: 'GET', url: `${namespaceOf(desk)}/pods?limit=50` },
  awsStep(pauseMs(desk.random), 'ec2.eu-west-1.amazonaws.com', { Action: 'DescribeInstances' }),
];

const scale: Routine = ({ random, places }) => {
  const name = random.pick(['web', 'api', 'worker']);
  const url = `${cluster}/apis/apps/v1/namespaces/${random.pick(places)}/deployments/${name}`;
  return [
    { afterMs: 0, method: 'GET', url },
    {
      afterMs: pauseMs(random),
      method: 'PATCH',
      url: `${url}/scale`,
      body: { spec: { replicas: random.integer(2, 12) } },
    },
  ];
};

const handleIncident: Routine = (desk) => {
  const { random } = desk;
  const id = `Q${random.text('ABCDEFGHJKLMNPQRSTUVWXYZ0123456789', 13)}`;
  const note = { note: { content: prose(random, random.logNormal(180, 0.6)) } };
  return [
    { afterMs: 0, method: 'GET', url: `${pagerDuty}/incidents/${id}` },
    { afterMs: pauseMs(random), method: 'GET', url: `${namespaceOf(desk)}/pods` },
    awsStep(pauseMs(random), 'monitoring.eu-west-1.amazonaws.com', {
      Action: 'GetMetricStatistics',
      MetricName: 'CPUUtilization',
    }),
    { afterMs: pauseMs(random) * 2, method: 'POST', url: `${pagerDuty}/incidents/${id}/notes`, body: note },
  ];
};

/** A role, and its policy when somebody has looked at it: much later than who is in a hurry. */
const newRole: Routine = ({ random }) => {
  const RoleName = `batch-${random.integer(100, 999)}`;
  const PolicyArn = 'arn:aws:iam::123456789012:policy/read-lake';
  return [
    awsStep(0, 'iam.amazonaws.com', { Action: 'CreateRole', RoleName, AssumeRolePolicyDocument: '{}' }),
    awsStep(random.integer(20, 40) * 60_000, 'iam.amazonaws.com', {
      Action: 'AttachRolePolicy',
      RoleName,
      PolicyArn,
    }),
  ];
};

const report: Routine = (desk) => [
  { afterMs: 0, method: 'GET', url: `${pagerDuty}/incidents?limit=100` },
  { afterMs: pauseMs(desk.random), method: 'GET', url: `${cluster}/api/v1/nodes` },
  awsStep(pauseMs(desk.random), 'ec2.eu-west-1.amazonaws.com', { Action: 'DescribeVolumes' }),
];

export const ops: Kind = {
  runtimeType: 'custom',
  places: ['prod', 'staging', 'batch'],
  tokens: [],
  routines: [
    [4, look],
    [2, scale],
    [3, handleIncident],
    [0.1, newRole],
  ],
  daily: report,
};
