/** What a function of javascript or of node does with its arguments. */
export type Capability =
  | 'shell'
  | 'program'
  | 'script'
  | 'code'
  | 'timer'
  | 'worker'
  | 'require'
  | 'read'
  | 'write'
  | 'move'
  | 'delete'
  | 'delete-maybe-tree'
  | 'permissions'
  | 'network'
  | 'socket'
  | 'native'
  | 'introspection'
  | 'signal'
  | 'privilege'
  | 'information'
  | 'safe';

const names: Record<Capability, string> = {
  shell: 'child_process.exec shelljs.exec Bun.$',
  program:
    'child_process.spawn child_process.execFile child_process Deno.Command Bun.spawn execa cross-spawn node-pty',
  script: 'child_process.fork cluster.fork cluster.setupPrimary cluster.setupMaster',
  code: `eval Function vm.runInThisContext vm.runInNewContext vm.runInContext vm.Script vm.compileFunction vm.SourceTextModule vm
    repl.start inspector v8.setFlagsFromString vm2 AsyncFunction module._compile module.register`,
  timer: 'setTimeout setInterval setImmediate timers.setTimeout timers.setInterval',
  worker: 'worker_threads.Worker Worker SharedWorker',
  require:
    'require import module.createRequire() module._load module.require require.main.require process.mainModule.require importScripts',
  read: `fs.readFile fs.readdir fs.createReadStream fs.open fs.opendir fs.readlink fs.watch fs.watchFile Deno.readTextFile Deno.readFile Bun.file fs.openAsBlob`,
  write: `fs.writeFile fs.appendFile fs.createWriteStream fs.mkdir fs.mkdtemp fs.truncate fs.utimes fs.write Deno.writeTextFile
    Deno.writeFile Deno.mkdir Bun.write fs.lutimes process.chdir`,
  move: 'fs.rename fs.copyFile fs.cp fs.link fs.symlink',
  delete: 'fs.unlink Deno.remove',
  'delete-maybe-tree': 'fs.rm fs.rmdir rimraf fs-extra.remove fs-extra.emptyDir',
  permissions: 'fs.chmod fs.chown fs.lchown fs.lchmod fs.fchmod',
  network: `http https http2 dns fetch XMLHttpRequest WebSocket EventSource axios node-fetch got undici request superagent ws express
    fastify koa socket.io nodemailer ssh2 ftp pg mysql mysql2 mongodb redis ioredis puppeteer playwright aws-sdk @aws-sdk
    navigator.sendBeacon Deno.connect Deno.listen Bun.serve Deno.serve openai ky needle`,
  socket: 'net tls dgram net.Socket',
  native: `process.dlopen process.binding process._linkedBinding ffi-napi koffi WebAssembly ref-napi node-ffi process.internalBinding Deno.dlopen`,
  introspection: `process.mainModule module.constructor require.cache require.extensions module.children module._extensions module._resolveFilename
    process._getActiveHandles process.getBuiltinModule_ global.process_ Error.prepareStackTrace module.prototype`,
  signal: 'process.kill process.abort process.reallyExit process._kill process._debugProcess',
  privilege:
    'process.setuid process.setgid process.seteuid process.setegid process.setgroups process.initgroups os.setPriority',
  information: `process.env os process.getuid process.getgid process.report process.config process.versions_ process.title process.pid process.umask`,
  safe: `process.argv process.stdout process.stderr process.stdin process.exit process.exitCode process.on process.once process.nextTick process.cwd
    process.platform process.version process.versions process.hrtime process.memoryUsage process.uptime process.arch process.cpuUsage process.emitWarning
    process os.EOL http.STATUS_CODES fs.constants fs.existsSync fs.stat fs.lstat fs.access fs.exists fs.close fs.fsync net.isIP net.isIPv4 net.isIPv6
    require.resolve import.meta module.exports module.id module.filename module.paths module.builtinModules module.createRequire https.Agent http.Agent fs.Stats fs.read
    vm.isContext fs.fstat fs.realpath fs.stat module`,
};

export const capabilities: ReadonlyMap<string, Capability> = new Map(
  Object.entries(names).flatMap(([capability, list]) =>
    list.split(/\s+/).map((name): [string, Capability] => [name, capability as Capability]),
  ),
);

/** The first parts of all names above; what begins otherwise needs no looking up. */
export const knownTops: ReadonlySet<string> = new Set(
  [...capabilities.keys()].map((name) => name.split('.')[0] ?? ''),
);

export const knownModules: ReadonlySet<string> = new Set(
  `assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns events fs http http2 https inspector
   module net os path perf_hooks process punycode querystring readline repl stream string_decoder sys test timers tls tty url util v8 vm
   worker_threads zlib lodash underscore moment dayjs date-fns luxon uuid nanoid zod ajv joi chalk kleur picocolors csv-parse csv-stringify papaparse
   yaml js-yaml toml ini ramda rxjs mathjs d3 cheerio jsdom react react-dom vue svelte preact immer redux commander yargs minimist dotenv
   semver glob minimatch fast-glob typescript marked markdown-it xml2js fast-xml-parser bignumber.js decimal.js big.js seedrandom chart.js
   sharp jimp pdf-lib pdfkit exceljs xlsx handlebars mustache ejs nunjucks lru-cache p-limit p-map async bluebird validator slugify he iconv-lite`.split(
    /\s+/,
  ),
);

/** Modules that are worth hiding. */
export const hiddenModules: ReadonlySet<string> = new Set([
  'child_process',
  'fs',
  'vm',
  'net',
  'module',
  'worker_threads',
  'inspector',
  'cluster',
  'process',
  'repl',
  'v8',
]);

/** Names that are there without being imported. */
export const globalNames: ReadonlySet<string> = new Set([
  'require',
  'process',
  'eval',
  'Function',
  'fetch',
  'Buffer',
  'module',
  'atob',
  'btoa',
  'String',
  'Object',
  'Array',
  'Reflect',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'XMLHttpRequest',
  'WebSocket',
  'EventSource',
  'Worker',
  'SharedWorker',
  'WebAssembly',
  'decodeURIComponent',
  'decodeURI',
  'unescape',
  'Deno',
  'Bun',
  'importScripts',
  'navigator',
  'Symbol',
  'JSON',
  'Math',
  'Proxy',
  'exports',
  'Promise',
  'Error',
  'await',
]);

/** Methods that mean the same on whatever they are called. */
export const tellingMethods: ReadonlyMap<string, Capability> = new Map<string, Capability>([
  ['execSync', 'shell'],
  ['execFileSync', 'program'],
  ['spawnSync', 'program'],
  ['execFile', 'program'],
  ['mainModule', 'introspection'],
  ['dlopen', 'native'],
  ['rmSync', 'delete-maybe-tree'],
  ['unlinkSync', 'delete'],
  ['writeFileSync', 'write'],
  ['_load', 'require'],
  ['_compile', 'code'],
  ['getBuiltinModule', 'require'],
  ['runInThisContext', 'code'],
  ['runInNewContext', 'code'],
  ['sendBeacon', 'network'],
]);
