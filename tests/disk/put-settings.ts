import type { SandboxSettings } from '@secbox/contracts';

/** Replaces whatever Settings hold. */
export async function putSandboxSettings(url: string, sandbox: SandboxSettings): Promise<void> {
  const { version } = (await (await fetch(`${url}/settings`)).json()) as { version: number };
  const response = await fetch(`${url}/settings`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'if-match': `"${version}"` },
    body: JSON.stringify({ sandbox }),
  });
  if (response.status !== 200) throw new Error(await response.text());
}
