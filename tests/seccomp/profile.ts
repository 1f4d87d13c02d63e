import { readFileSync } from 'node:fs';

export interface Condition {
  readonly index: number;
  readonly value: number;
  /** With SCMP_CMP_MASKED_EQ `value` is the mask and this the value. */
  readonly valueTwo?: number;
  readonly op: 'SCMP_CMP_EQ' | 'SCMP_CMP_GT' | 'SCMP_CMP_MASKED_EQ';
}

export interface Rule {
  readonly comment?: string;
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO';
  readonly errnoRet?: number;
  readonly args?: readonly Condition[];
}

export interface Profile {
  readonly defaultAction: string;
  readonly defaultErrnoRet?: number;
  readonly architectures?: readonly string[];
  readonly archMap?: readonly {
    readonly architecture: string;
    readonly subArchitectures: readonly string[];
  }[];
  readonly syscalls: readonly Rule[];
}

/** What Docker 20.10 allows a container without capabilities. */
export interface DockerDefault {
  readonly architectures: readonly string[];
  readonly allowed: readonly string[];
  readonly allowedWithArguments: readonly { readonly name: string; readonly args: readonly Condition[] }[];
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

export const ourProfile = readJson('../../docker/seccomp.json') as Profile;
export const dockerDefault = readJson('docker-20.10-allowed.json') as DockerDefault;

/** Docker 20.10's default as a profile of its own: what the tests compare with, whatever engine runs them. */
export const dockerProfile: Profile = {
  defaultAction: 'SCMP_ACT_ERRNO',
  architectures: process.arch === 'x64' ? dockerDefault.architectures : [],
  syscalls: [
    { names: dockerDefault.allowed, action: 'SCMP_ACT_ALLOW' },
    ...dockerDefault.allowedWithArguments.map(({ name, args }): Rule => ({
      names: [name],
      action: 'SCMP_ACT_ALLOW',
      args,
    })),
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: 38 },
  ],
};

/** The errno a profile answers a call with, or 'allowed'. Arguments not given are 0. */
export function answer(
  profile: Profile,
  name: string,
  args: readonly (number | bigint)[] = [],
): number | 'allowed' {
  const matching = profile.syscalls.filter(
    (rule) => rule.names.includes(name) && (rule.args ?? []).every((condition) => holds(condition, args)),
  );
  if (matching.some((rule) => rule.action === 'SCMP_ACT_ALLOW')) return 'allowed';
  return matching[0]?.errnoRet ?? profile.defaultErrnoRet ?? 1;
}

function holds({ index, value, valueTwo, op }: Condition, args: readonly (number | bigint)[]): boolean {
  const argument = BigInt.asUintN(64, BigInt(args[index] ?? 0));
  switch (op) {
    case 'SCMP_CMP_EQ':
      return argument === BigInt(value);
    case 'SCMP_CMP_GT':
      return argument > BigInt(value);
    case 'SCMP_CMP_MASKED_EQ':
      return (argument & BigInt(value)) === BigInt(valueTwo ?? 0);
  }
}
