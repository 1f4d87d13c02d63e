import { skillZip } from './v1-calls.js';

/** One example of the API's document: its request as it stands there, and what it answers. */
export interface Example {
  /** Where it is in the document, by which they are in order. */
  readonly section: string;
  readonly curl: string;
  /** The answer, of which lists may be in any order and may tell more of each thing. */
  readonly answer: unknown;
  /** What the document takes to be there by then: files of the general sandbox. */
  readonly before?: Readonly<Record<string, string>>;
  /** The same of the user's weather_skill. */
  readonly skill?: Readonly<Record<string, string>>;
  /** What the command prints, where that differs from run to run. */
  readonly stdout?: RegExp;
}

/** A skill that the agent has before the first example. */
export const weatherSkill = {
  'main.py': "import sys\nimport os\n\ndef main():\n    print('Hello Sandbox')",
  'utils/helper.py': 'help = 1\n',
  'SKILL.md': '---\nname: 天气查询技能\ndescription: 提供全球实时天气查询服务\n---\n',
} as const;

/** The files that lie beside whoever runs the lines. */
export const localFiles = {
  'myskill.zip': skillZip('myskill', { 'README.md': '# 我的自定义工具\n', 'run.py': 'print(1)\n' }),
} as const;

export const examples: readonly Example[] = [
  {
    section: '1.1',
    curl: `curl -X POST "http://localhost:8003/v1/skills/1001/agent001/upload?scope=overlay" \\
         -F "file=@myskill.zip"`,
    answer: {
      status: 'success',
      data: "Upload successful: skill 'myskill' to '/webIde/product/skill/overlay/1001/agent001/myskill'",
    },
  },
  {
    section: '1.2',
    curl: `curl "http://localhost:8003/v1/skills/1001/agent001/list"`,
    answer: {
      status: 'success',
      data: [
        { name: '天气查询技能', description: '提供全球实时天气查询服务' },
        { name: '我的自定义工具', description: 'No description available.' },
      ],
    },
  },
  {
    section: '1.3',
    curl: `curl "http://localhost:8003/v1/skills/1001/agent001/weather_skill/files"`,
    answer: { status: 'success', data: ['main.py', 'utils/helper.py', 'SKILL.md'] },
  },
  {
    section: '1.4 (1)',
    curl: `curl "http://localhost:8003/v1/skills/1001/agent001/weather_skill/content?path=main.py"`,
    answer: {
      status: 'success',
      data: { content: "import sys\nimport os\n\ndef main():\n    print('Hello Sandbox')" },
    },
  },
  {
    section: '1.4 (2)',
    curl: `curl "http://localhost:8003/v1/skills/1001/agent001/weather_skill/content?path=main.py&start=1&end=2"`,
    answer: { status: 'success', data: { content: ['import sys', 'import os'] } },
  },
  {
    section: '1.5',
    curl: `curl -X POST "http://localhost:8003/v1/skills/1001/agent001/weather_skill/execute?command=python3" \\
         -H "Content-Type: application/json" \\
         -d '["main.py", "--city", "Beijing"]'`,
    skill: { 'main.py': "import sys\nsys.stdout.write(f'{sys.argv[2]}: 25°C, Sunny')\n" },
    answer: {
      status: 'success',
      data: { stdout: 'Beijing: 25°C, Sunny', stderror: '', exit_code: 0 },
    },
  },
  {
    section: '2.1',
    curl: `curl -X PUT "http://localhost:8003/v1/sandbox/1001/agent001/edit?path=temp.txt" \\
         -H "Content-Type: text/plain" \\
         -d "Hello General Sandbox"`,
    answer: { status: 'success', data: 'Sandbox file updated successfully.' },
  },
  {
    section: '2.2',
    curl: `curl -X POST "http://localhost:8003/v1/sandbox/1001/agent001/execute?command=ls" \\
         -H "Content-Type: application/json" \\
         -d '["-la"]'`,
    answer: {
      status: 'success',
      data: { stderror: '', exit_code: 0 },
    },
    stdout: /^total \d+\ndrwxr-xr-x .* \.\n[^]*temp\.txt\n$/,
  },
  {
    section: '2.3',
    curl: `curl "http://localhost:8003/v1/sandbox/1001/agent001/files"`,
    before: { 'data/log.txt': 'log\n' },
    answer: { status: 'success', data: ['temp.txt', 'data/log.txt'] },
  },
  {
    section: '2.4 (1)',
    curl: `curl "http://localhost:8003/v1/sandbox/1001/agent001/content?path=temp.txt"`,
    before: { 'temp.txt': 'Hello General Sandbox content\nLine 2\nLine 3' },
    answer: {
      status: 'success',
      data: { content: 'Hello General Sandbox content\nLine 2\nLine 3' },
    },
  },
  {
    section: '2.4 (2)',
    curl: `curl "http://localhost:8003/v1/sandbox/1001/agent001/content?path=temp.txt&start=1&end=2"`,
    answer: { status: 'success', data: { content: ['Hello General Sandbox content', 'Line 2'] } },
  },
];
