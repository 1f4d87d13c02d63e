/** What a program does, told by its name. Programs that need more than their name have rules of their own. */
export type Effect =
  | 'nothing'
  | 'reads'
  | 'writes'
  | 'moves'
  | 'information'
  | 'network'
  | 'backdoor'
  | 'change'
  | 'escape'
  | 'destroys'
  | 'starts'
  | 'signals'
  | 'foreign-code';

const names: Record<Effect, string> = {
  nothing: `echo printf true false : test [ [[ seq date cal sleep basename dirname expr let cd pushd popd dirs set unset
    local declare typeset readonly shift return exit break continue wait jobs fg bg getopts shopt type umask read
    exit yes bc factor numfmt tput clear help bind caller history times disown export which whereis
    sync tty stty reset nproc arch mktemp rev tr`,
  reads: `cat head tail less more wc sort uniq cut paste join comm column fold fmt nl tac od xxd hexdump hd strings
    grep egrep fgrep rg ag ls dir tree stat file diff cmp md5sum sha1sum sha256sum sha512sum b2sum cksum sum base64 base32 jq yq
    csvcut csvtool iconv realpath readlink du look shuf tsort expand unexpand pr zcat bzcat xzcat zgrep column
    pwd locale identify ffprobe xmllint`,
  writes: `touch mkdir mkfifo tee truncate split csplit gzip gunzip bzip2 bunzip2 xz unxz zstd lz4 zip unzip tar 7z ar cpio
    convert magick pandoc ffmpeg patch dos2unix unix2dos uuencode uudecode install pdftotext`,
  moves: 'cp mv ln rename',
  information: `env printenv id whoami uname hostname groups users who w last uptime ps top htop df free lscpu lsblk lsmod lsof
    ulimit getconf ip ifconfig netstat ss route dmesg getent vmstat iostat pgrep pidof logname lsns findmnt`,
  network: `curl wget ssh scp sftp ftp rsync dig nslookup host ping ping6 traceroute tracepath whois aria2c lynx w3m http https
    httpie aws gcloud az gsutil s3cmd rclone mail sendmail mutt smbclient ldapsearch psql mysql redis-cli mongo mongosh svn hg nmap
    masscan tcpdump tshark openssl ssh-keyscan ssh-copy-id`,
  backdoor: 'nc ncat netcat socat telnet cryptcat chisel ngrok frpc proxychains',
  change: `iptables ip6tables nft ufw mount umount losetup swapon swapoff useradd userdel usermod adduser deluser groupadd groupdel
    groupmod passwd chpasswd visudo vipw systemctl service update-rc.d rc-update sysctl shutdown reboot halt poweroff init telinit
    hwclock timedatectl hostnamectl setenforce unshare chroot pivot_root ldconfig update-alternatives dpkg-reconfigure
    setcap auditctl tc brctl bpftool bpftrace perf docker podman kubectl ctr crictl nerdctl lxc virsh machinectl capsh`,
  escape: 'nsenter insmod modprobe rmmod kexec runc debugfs',
  destroys: 'mkfs wipefs fdisk sfdisk parted cfdisk blkdiscard mke2fs mkswap hdparm sgdisk',
  starts:
    'make cmake ninja cargo go gcc g++ cc clang rustc javac java mvn gradle dotnet tox pytest jest tsc npx yarn pnpm git at batch',
  signals: 'pkill killall gdb strace ltrace xkill skill',
  'foreign-code':
    'perl ruby php lua luajit Rscript R tclsh wish osascript ghc runghc guile scheme clisp expect swift pwsh gs vim vi ex ed emacs dc',
};

export const effects: ReadonlyMap<string, Effect> = new Map(
  Object.entries(names).flatMap(([effect, list]) =>
    list.split(/\s+/).map((name): [string, Effect] => [name, effect as Effect]),
  ),
);

/** Programs that run what follows them; the options that take a value are not what follows. */
export const prefixes: ReadonlyMap<string, { readonly valued: string; readonly skip: number }> = new Map(
  Object.entries({
    command: { valued: '', skip: 0 },
    builtin: { valued: '', skip: 0 },
    exec: { valued: 'a', skip: 0 },
    nohup: { valued: '', skip: 0 },
    nice: { valued: 'n', skip: 0 },
    ionice: { valued: 'cnp', skip: 0 },
    timeout: { valued: 'sk', skip: 1 },
    time: { valued: 'fo', skip: 0 },
    stdbuf: { valued: 'ioe', skip: 0 },
    setsid: { valued: '', skip: 0 },
    busybox: { valued: '', skip: 0 },
    toybox: { valued: '', skip: 0 },
    env: { valued: 'uCS', skip: 0 },
    sudo: { valued: 'ugpCDRhrtTU', skip: 0 },
    doas: { valued: 'uC', skip: 0 },
    watch: { valued: 'n', skip: 0 },
    unbuffer: { valued: '', skip: 0 },
    catchsegv: { valued: '', skip: 0 },
    taskset: { valued: '', skip: 1 },
    chrt: { valued: '', skip: 1 },
    xargs: { valued: 'IPndEaLs', skip: 0 },
    parallel: { valued: 'jN', skip: 0 },
    coproc: { valued: '', skip: 0 },
    'systemd-run': { valued: 'pu', skip: 0 },
    then: { valued: '', skip: 0 },
  }),
);

export const shells: ReadonlySet<string> = new Set([
  'sh',
  'bash',
  'dash',
  'zsh',
  'ksh',
  'ash',
  'rbash',
  'mksh',
  'fish',
]);
export const elevators: ReadonlySet<string> = new Set([
  'sudo',
  'doas',
  'su',
  'pkexec',
  'runuser',
  'setpriv',
  'newgrp',
  'sg',
  'gosu',
]);
export const installers: ReadonlySet<string> = new Set([
  'pip',
  'pip3',
  'pipx',
  'uv',
  'npm',
  'yarn',
  'pnpm',
  'apt',
  'apt-get',
  'aptitude',
  'apk',
  'yum',
  'dnf',
  'pacman',
  'zypper',
  'brew',
  'gem',
  'cpan',
  'conda',
  'mamba',
  'poetry',
  'dpkg',
  'rpm',
  'snap',
  'flatpak',
  'easy_install',
]);

/** Whether a program of this name is there without anybody bringing it. */
export function isKnownCommand(name: string): boolean {
  return (
    effects.has(name) ||
    prefixes.has(name) ||
    shells.has(name) ||
    elevators.has(name) ||
    installers.has(name) ||
    withArguments.has(name)
  );
}

const withArguments: ReadonlySet<string> = new Set(
  'rm rmdir unlink shred chmod chown chgrp kill dd find fd crontab sed eval source . git awk gawk python python3 node sqlite3'.split(
    ' ',
  ),
);
