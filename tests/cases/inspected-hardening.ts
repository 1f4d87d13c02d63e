import { readFileSync } from 'node:fs';

/** The engine's account, without what differs from run to run or from one engine to the next. */
export function hardeningOf(inspected: Record<string, unknown>): Record<string, unknown> {
  const { HostConfig, Config, Mounts, NetworkSettings } = inspected as unknown as Inspected;
  const listed = Object.entries(HostConfig).filter(
    ([key, value]) => !perMachine.includes(key) && !isUnset(value),
  );
  return {
    User: Config['User'],
    WorkingDir: Config['WorkingDir'],
    Tty: Config['Tty'],
    Healthcheck: Config['Healthcheck'],
    Labels: Object.fromEntries(Object.entries(Config.Labels).filter(([key]) => key.startsWith('secbox'))),
    HostConfig: {
      ...Object.fromEntries(listed),
      SecurityOpt: securityOptions(HostConfig['SecurityOpt'] as string[]),
    },
    // Engines differ in whether they list an unset field, so these are named to be seen.
    Unset: mustBeUnset.filter((key) => isUnset(HostConfig[key])),
    Mounts: Mounts.map(({ Type, Source, Destination, RW, Propagation }) => ({
      Type,
      Source,
      Destination,
      RW,
      Propagation,
    })).sort((a, b) => (a.Destination < b.Destination ? -1 : 1)),
    Networks: Object.keys(NetworkSettings.Networks).filter((network) => network !== 'none'),
  };
}

/** The seccomp profile is long; that it is ours, to the letter, is what counts. */
function securityOptions(options: readonly string[]): string[] {
  const profile = readFileSync(new URL('../../docker/seccomp.json', import.meta.url), 'utf8');
  return options.map((option) =>
    option === `seccomp=${profile}` ? 'seccomp=<docker/seccomp.json>' : option,
  );
}

interface Inspected {
  readonly HostConfig: Readonly<Record<string, unknown>>;
  readonly Config: Readonly<Record<string, unknown>> & { readonly Labels: Readonly<Record<string, string>> };
  readonly Mounts: readonly {
    readonly Type: string;
    readonly Source: string;
    readonly Destination: string;
    readonly RW: boolean;
    readonly Propagation: string;
  }[];
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, unknown>> };
}

const perMachine = ['CgroupnsMode', 'ConsoleSize', 'Isolation', 'MaskedPaths', 'ReadonlyPaths', 'Runtime'];

const mustBeUnset = [
  'Binds',
  'CapAdd',
  'CgroupParent',
  'DeviceCgroupRules',
  'DeviceRequests',
  'Devices',
  'ExtraHosts',
  'GroupAdd',
  'Links',
  'OomKillDisable',
  'PidMode',
  'PortBindings',
  'Privileged',
  'PublishAllPorts',
  'Sysctls',
  'UTSMode',
  'UsernsMode',
  'VolumesFrom',
];

function isUnset(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return !value;
}
