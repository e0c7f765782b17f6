import { useState } from 'preact/hooks';
import type { ListedTool, ShownMcpServer, ShownTool } from '../../../api/answers.ts';
import { may, post } from '../data/api.ts';
import { useList, useOne } from '../data/pages.ts';
import { href, place } from '../data/route.ts';
import { Card, Empty, PageHead, Problem, Skeleton, Status, Time } from '../kit/bits.tsx';
import { Confirm } from '../kit/confirm.tsx';
import { List } from '../kit/list.tsx';
import { Table } from '../kit/table.tsx';

/** Shows the vendors whose calls are understood, and the tools that MCP servers offer. */
export default function Tools() {
  const [shown] = place.value.parts;
  if (shown !== undefined) return <ToolPage key={shown} name={shown} />;
  return (
    <>
      <PageHead
        title="Tools"
        about="Calls to these are understood: which operation, which resource, reading or writing."
      />
      <div class="stack">
        <McpServers />
        <ToolTable />
      </div>
    </>
  );
}

function ToolTable() {
  const [asked, setAsked] = useState('');
  const tools = useList<ListedTool>('/v1/tools');
  const wanted = asked.trim().toLowerCase();
  const items = tools.items?.filter((it) =>
    [it.name, it.title, ...it.hosts].some((text) => text.toLowerCase().includes(wanted)),
  );
  return (
    <Card
      title="Catalogue"
      actions={
        <input
          type="search"
          class="narrow"
          aria-label="Find a tool"
          placeholder="Find by name or host"
          value={asked}
          onInput={(event) => setAsked(event.currentTarget.value)}
        />
      }
    >
      <List
        of={{ ...tools, items }}
        stacks
        label="Tools"
        keyOf={(it) => it.name}
        columns={[
          { name: 'Tool', cell: (it) => <a href={href(['tools', it.name])}>{it.title}</a> },
          { name: 'Name', kind: 'extra', cell: (it) => <code>{it.name}</code> },
          {
            name: 'Hosts',
            kind: 'wide',
            cell: (it) => (
              <span class="clip mono" title={it.hosts.join(' ')}>
                {it.hosts.join(' ') || 'by its protocol'}
              </span>
            ),
          },
          { name: 'Operations', kind: 'number', cell: (it) => it.operations },
        ]}
        empty={
          <Empty
            title="No tool fits."
            command={'# config/tools/<vendor>.yaml, or tools: of the configuration'}
          >
            Calls to other hosts are judged by method, address and content. Teach the gateway a vendor by a
            table:
          </Empty>
        }
      />
    </Card>
  );
}

function ToolPage({ name }: { name: string }) {
  const tool = useOne<ShownTool>(`/v1/tools/${encodeURIComponent(name)}`);
  return (
    <>
      <PageHead title={tool.data?.title ?? name} about={tool.data?.hosts.join(' ')} list="tools">
        <a class="button plain" href={href('activity', { tool_name: name })}>
          Its calls
        </a>
      </PageHead>
      <Problem of={tool.problem} again={tool.reload} />
      {tool.isLoading && <Skeleton lines={12} />}
      {tool.data && (
        <Table
          stacks
          label={`Operations of ${name}`}
          rows={tool.data.operations}
          keyOf={(it) => it.category + it.name}
          columns={[
            { name: 'Operation', cell: (it) => <code>{it.name}</code> },
            { name: 'Category', kind: 'extra', cell: (it) => it.category },
            { name: 'Does', cell: (it) => <span class="tag">{it.verb}</span> },
            {
              name: 'Calls',
              kind: 'wide',
              cell: (it) => (
                <span class="clip mono" title={it.calls.join('\n')}>
                  {it.calls.join(' · ')}
                </span>
              ),
            },
          ]}
        />
      )}
    </>
  );
}

function McpServers() {
  const list = useList<ShownMcpServer>('/v1/mcp-servers');
  if (list.items?.length === 0 && !list.problem) return null;
  return (
    <Card title="MCP servers">
      <List
        of={list}
        stacks
        label="MCP servers"
        keyOf={(it) => it.server_id}
        columns={[
          { name: 'Server', kind: 'wide', cell: (it) => <span class="clip mono">{it.origin}</span> },
          { name: 'Tools', kind: 'number', cell: (it) => it.lists.reduce((sum, own) => sum + own.tools, 0) },
          {
            name: 'Concerns',
            cell: (it) =>
              it.concerns.length === 0 ? (
                <Status of="ok" word="none" />
              ) : (
                <span title={it.concerns.map((own) => `${own.tool}: ${own.kinds.join(', ')}`).join('\n')}>
                  <Status
                    of="stale"
                    word={`${it.concerns.length}: ${it.concerns[0]?.tool} ${it.concerns[0]?.kinds.join(', ')}`}
                  />
                </span>
              ),
          },
          { name: 'Seen', kind: 'extra', cell: (it) => <Time at={it.seen_at} /> },
          {
            name: 'Change',
            cell: (it) =>
              it.concerns.length > 0 &&
              may('approvals:decide') && (
                <Confirm
                  word="Accept"
                  says={`The tools of ${it.origin} are taken as they are now. What changes later is a concern again.`}
                  run={async () => {
                    await post(`/v1/mcp-servers/${it.server_id}/accept`);
                    list.reload();
                  }}
                />
              ),
          },
        ]}
        empty={null}
      />
    </Card>
  );
}
