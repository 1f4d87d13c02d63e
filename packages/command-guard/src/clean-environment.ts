const ofTheHost = ['KUBERNETES_', 'SERVICE_', 'SECRET_'] as const;

/** Without the variables by which a cluster tells of itself. Whatever their case: some programs do not care. */
export function cleanEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !ofTheHost.some((prefix) => name.toUpperCase().startsWith(prefix)),
    ),
  );
}
