/** Posts an invocation, whatever is answered. */
export async function invoke(
  url: string,
  skillId: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly body: unknown; readonly headers: Headers }> {
  const response = await fetch(`${url}/skills/${skillId}/invoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}
