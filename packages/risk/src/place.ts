import { remembered } from './values/remembered.js';

/** Stands for a part of a text that is known only at run time. */
export const hole = '\uFFFC';
/** One that came from the network. */
export const downloadedHole = `${hole}\u0002`;

/** One that is known to be a whole number. */
export const numberHole = `${hole}\u0003`;

/** What lies at a path, as far as its name tells. */
export type Place =
  | 'own'
  | 'outside'
  | 'unknown'
  | 'harmless-device'
  | 'device'
  | 'credential'
  | 'startup'
  | 'host'
  | 'system'
  | 'root-or-home';

const own = ['/workspace', '/tmp', '/var/tmp'];
const harmlessDevices = [
  'null',
  'zero',
  'random',
  'urandom',
  'stdin',
  'stdout',
  'stderr',
  'tty',
  'full',
  'fd',
  'shm',
];
const system = [
  'bin',
  'boot',
  'dev',
  'etc',
  'lib',
  'lib32',
  'lib64',
  'opt',
  'proc',
  'root',
  'run',
  'sbin',
  'sys',
  'usr',
  'var',
  'home',
  'mnt',
  'media',
  'srv',
  'snap',
];

/** Ends of paths; a trailing slash means the folder and all in it. */
const credentials = [
  '.ssh',
  '.aws',
  '.gnupg',
  '.kube',
  '.azure',
  '.config/gcloud',
  '.docker/config.json',
  '.netrc',
  '.git-credentials',
  '.npmrc',
  '.pypirc',
  '.pgpass',
  '.my.cnf',
  '.vault-token',
  '.bash_history',
  '.zsh_history',
  '.config/gh',
  '.password-store',
  '.mozilla',
  '.config/google-chrome',
];
const credentialNames = [
  'id_rsa',
  'id_dsa',
  'id_ecdsa',
  'id_ed25519',
  'shadow',
  'gshadow',
  'sudoers',
  'wallet.dat',
  'secret.key',
];
const credentialPaths = [
  '/etc/shadow',
  '/etc/gshadow',
  '/etc/sudoers',
  '/etc/ssh',
  '/etc/kubernetes',
  '/var/run/secrets',
  '/run/secrets',
];
const startupNames = [
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.profile',
  '.zshrc',
  '.zprofile',
  '.zshenv',
  '.config/autostart',
  '.config/systemd',
  'authorized_keys',
  'sitecustomize.py',
  'usercustomize.py',
];
const startupPaths = [
  '/etc/cron',
  '/etc/init',
  '/etc/rc',
  '/etc/profile',
  '/etc/bash',
  '/etc/systemd',
  '/lib/systemd',
  '/usr/lib/systemd',
  '/etc/ld.so',
  '/etc/pam',
  '/var/spool/cron',
  '/etc/xdg/autostart',
  '/etc/environment',
  '/etc/sudoers',
];
const hostPaths = [
  '/var/run/docker.sock',
  '/run/docker.sock',
  '/run/containerd',
  '/var/run/containerd',
  '/run/podman',
  '/var/run/crio',
  '/proc/1',
  '/proc/sysrq-trigger',
  '/proc/sys',
  '/proc/kcore',
  '/proc/kmem',
  '/sys/fs/cgroup',
  '/sys/kernel',
  '/var/lib/docker',
  '/var/lib/kubelet',
  '/proc/self/exe',
  '/dev/mem',
  '/dev/kmem',
  '/dev/port',
  '/host',
  '/rootfs',
];

/** `home` folders are told apart from the rest of the system, as losing them is what users mind. */
export const placeOf = remembered((path): Place => {
  if (path === '' || beginsUnknown(path)) return suffixPlace(path) ?? 'unknown';
  // Most are plain names.
  if (/^\w[\w.-]*$/.test(path)) return 'own';
  const plain = normalize(path.replace(/^file:\/\//, ''));
  if (
    plain === '/' ||
    plain === '~' ||
    /^\/(home|root|Users)(\/[^/]+)?$/.test(plain) ||
    plain === '/*' ||
    plain === '~/*'
  ) {
    return 'root-or-home';
  }
  if (
    hostPaths.some((host) => isBelow(plain, host)) ||
    plain.endsWith('/release_agent') ||
    plain.endsWith('docker.sock')
  ) {
    return 'host';
  }
  const suffix = suffixPlace(plain);
  if (suffix) return suffix;
  if (credentialPaths.some((known) => isBelow(plain, known))) return 'credential';
  if (/^\/proc\/[^/]+\/environ$/.test(plain)) return 'credential';
  if (startupPaths.some((known) => plain.startsWith(known))) return 'startup';
  if (plain.startsWith('/dev/')) {
    const device = plain.slice(5).split('/')[0] ?? '';
    return harmlessDevices.includes(device) ? 'harmless-device' : 'device';
  }
  if (own.some((folder) => isBelow(plain, folder))) return 'own';
  if (plain.startsWith('~')) return 'outside';
  if (plain.startsWith('/')) {
    const top = plain.split('/')[1] ?? '';
    return plain === `/${top}` && system.includes(top) ? 'system' : 'outside';
  }
  return plain === '..' || plain.startsWith('../') ? 'outside' : 'own';
});

function beginsUnknown(path: string): boolean {
  return path.startsWith(hole) && !path.startsWith(numberHole);
}

const number = new RegExp(`(?<![\\w\\\\])${numberHole}`, 'g');

/** A program with some number where only the number is not known; one that may be part of a name or an escape stays. */
export function withNumbers(program: string): string {
  return program.replace(number, '1');
}

/** A path as seen from where the folder is named. */
export function below(folder: string | undefined, path: string): string {
  return folder === undefined || /^[/~]/.test(path) || beginsUnknown(path) ? path : `${folder}/${path}`;
}

/** Names that say what they are wherever they lie. */
function suffixPlace(path: string): Place | undefined {
  const parts = path.split('/');
  const last = parts.at(-1) ?? '';
  if (startupNames.some((name) => path === name || path.endsWith(`/${name}`) || path.includes(`/${name}/`)))
    return 'startup';
  const isBare = parts.length === 1;
  if (!isBare && credentialNames.includes(last)) return 'credential';
  if (
    credentials.some(
      (name) =>
        path === name ||
        path.endsWith(`/${name}`) ||
        path.includes(`/${name}/`) ||
        path.startsWith(`${name}/`),
    )
  ) {
    return 'credential';
  }
  return undefined;
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Resolves `.`, `..` and doubled slashes; what climbs above `/` stays there. */
function normalize(path: string): string {
  const absolute = path.startsWith('/');
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') kept.push(part);
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (!absolute) kept.push(part);
  }
  return absolute ? `/${kept.join('/')}` : kept.join('/') || '.';
}

/** Whether everything below a path would be lost with it: `/`, homes, `/usr`, also with a star behind. */
export function isVital(path: string): boolean {
  const bare = path.replace(/\/\.?\*+$/, '') || '/';
  const place = placeOf(bare);
  return (
    place === 'root-or-home' ||
    place === 'system' ||
    (path.startsWith('/') && path.replace(/[/.*]/g, '') === '')
  );
}
