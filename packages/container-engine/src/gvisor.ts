/** By the names that it is registered under. */
export function isGvisor(runtime: string): boolean {
  return /runsc|gvisor/i.test(runtime);
}
