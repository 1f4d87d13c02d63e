/** Said to a model whose call is held: to call again would only ask again. */
export function waitsForApproval(execId: string): string {
  return `It has not run yet: a human has to agree to it first, as approval ${execId}. Do not send it again; ask for it to be approved.`;
}
