/** What a function of python or of its library does with its arguments. */
export type Capability =
  | 'shell'
  | 'program'
  | 'program-words'
  | 'spawn-words'
  | 'code'
  | 'import'
  | 'attribute'
  | 'open'
  | 'read'
  | 'write'
  | 'write-second'
  | 'move'
  | 'delete'
  | 'delete-tree'
  | 'permissions'
  | 'network'
  | 'socket'
  | 'deserialize'
  | 'native'
  | 'introspection'
  | 'fork'
  | 'signal'
  | 'privilege'
  | 'streams'
  | 'terminal'
  | 'information'
  | 'safe';

const changing = (list: string) =>
  'insert append extend remove pop clear reverse sort update setdefault popitem __setitem__ __delitem__ __iadd__ __imul__ __init__'
    .split(' ')
    .map((method) => `${list}.${method}`)
    .join(' ');

const names: Record<Capability, string> = {
  shell:
    'os.system os.popen subprocess.getoutput subprocess.getstatusoutput commands.getoutput asyncio.create_subprocess_shell asyncio.subprocess.create_subprocess_shell popen2.popen2 pydoc.pipepager pydoc.tempfilepager',
  program: `subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen`,
  'program-words': `os.execv os.execve os.execvp os.execvpe os.posix_spawn os.posix_spawnp asyncio.create_subprocess_exec
    os.execl os.execle os.execlp os.execlpe os.startfile asyncio.subprocess.create_subprocess_exec multiprocessing.util.spawnv_passfds
    _posixsubprocess.fork_exec`,
  'spawn-words': 'os.spawnv os.spawnve os.spawnvp os.spawnvpe os.spawnl os.spawnle os.spawnlp os.spawnlpe',
  code: `builtins.eval builtins.exec builtins.compile builtins.execfile code.interact code.InteractiveInterpreter code.InteractiveConsole
    runpy.run_path runpy.run_module types.FunctionType types.CodeType timeit.timeit timeit.repeat timeit.Timer pandas.eval
    numexpr.evaluate cProfile.run profile.run pdb.run pdb.runeval pdb.runcall
    cProfile.runctx profile.runctx cProfile.Profile.run cProfile.Profile.runctx profile.Profile.run profile.Profile.runctx
    bdb.Bdb.run bdb.Bdb.runeval bdb.Bdb.runcall pdb.Pdb.run pdb.Pdb.runeval pdb.Pdb.runcall trace.Trace.run trace.Trace.runctx
    trace.Trace.runfunc builtins.breakpoint pdb.set_trace pdb.post_mortem pdb.pm doctest.testfile typing.get_type_hints sympy.sympify sympy.parsing logging.config`,
  import: `builtins.__import__ importlib.import_module importlib.__import__ importlib.reload imp.load_module imp.load_source imp.find_module
    importlib.util.spec_from_file_location importlib.machinery pkgutil.get_loader pkgutil.resolve_name zipimport.zipimporter pydoc.locate
    pydoc.safeimport xmlrpc.server.resolve_dotted_attribute unittest.mock._importer`,
  attribute: 'builtins.getattr builtins.setattr builtins.delattr operator.attrgetter operator.methodcaller',
  open: 'builtins.open io.open io.open_code wave.open codecs.open io.FileIO os.fdopen gzip.open bz2.open lzma.open tokenize.open os.open shelve.open dbm.open zipfile.ZipFile tarfile.open tarfile.TarFile',
  read: `os.listdir os.scandir os.walk os.readlink glob.glob glob.iglob numpy.load numpy.loadtxt numpy.genfromtxt pandas.read_csv
    pandas.read_json pandas.read_excel pandas.read_parquet pandas.read_table linecache.getline fileinput.input PIL.Image.open
    configparser.ConfigParser.read mmap.mmap linecache.getlines xml.etree.ElementTree.parse xml.etree.ElementTree.iterparse
    xml.dom.minidom.parse xml.sax.parse netrc.netrc numpy.fromfile numpy.memmap pandas.read_xml pandas.read_fwf pandas.read_feather
    pandas.read_orc pandas.read_stata pandas.read_hdf cv2.imread os.fwalk filecmp.cmp`,
  write: `os.mkdir os.makedirs os.mknod os.mkfifo os.truncate os.utime numpy.save numpy.savez numpy.savetxt matplotlib.pyplot.savefig
    shutil.make_archive shutil.unpack_archive logging.FileHandler os.link os.symlink sqlite3.connect tempfile.NamedTemporaryFile
    tempfile.mkstemp tempfile.mkdtemp tempfile.TemporaryDirectory tempfile.TemporaryFile joblib.dump torch.save PIL.Image.save os.chdir contextlib.chdir
    tempfile.SpooledTemporaryFile logging.basicConfig zipfile.ZipFile.extractall tarfile.open.extractall tarfile.TarFile.extractall`,
  'write-second': 'shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.copymode shutil.copystat',
  move: 'os.rename os.replace os.renames shutil.move',
  delete: 'os.remove os.unlink os.rmdir os.removedirs',
  'delete-tree': 'shutil.rmtree distutils.dir_util.remove_tree',
  permissions: 'os.chmod os.chown os.lchown os.fchmod os.setxattr shutil.chown os.lchmod',
  network: `requests urllib.request urllib2 urllib.urlopen urllib3 http.client http.server httplib httpx aiohttp ftplib smtplib poplib imaplib telnetlib
    nntplib paramiko fabric xmlrpc socketserver websocket websockets boto3 botocore google.cloud azure grpc ssl asyncio.open_connection
    asyncio.start_server asyncio.open_unix_connection webbrowser pycurl tornado flask fastapi uvicorn django scapy pymysql psycopg2
    psycopg redis pymongo openai anthropic selenium playwright twisted zmq pika kafka multiprocessing.connection multiprocessing.managers
    wsgiref dns smbprotocol ldap3 slack_sdk bottle sanic starlette asyncio.get_event_loop().create_connection logging.handlers logging.config.listen`,
  socket: 'socket _socket asyncore asynchat pwn',
  deserialize: `pickle.load pickle.loads pickle.Unpickler cPickle.load cPickle.loads _pickle.loads _pickle.load dill.load dill.loads
    cloudpickle.load cloudpickle.loads marshal.load marshal.loads yaml.load yaml.unsafe_load yaml.full_load joblib.load torch.load
    pandas.read_pickle jsonpickle.decode shelve.open numpy.lib.format.read_array`,
  native:
    'ctypes _ctypes cffi mmap.PROT_EXEC numpy.ctypeslib _xxsubinterpreters numba llvmlite cython pyximport distutils setuptools',
  introspection: `gc inspect.currentframe inspect.stack inspect.getouterframes sys._getframe sys.settrace sys.setprofile sys.meta_path sys.path_hooks
    sys.modules sys.addaudithook sys._current_frames atexit._run_exitfuncs builtins.__build_class__ builtins.__loader__ builtins.__spec__ inspect.getmembers
    sys.breakpointhook sys.excepthook sys.displayhook types.CodeType site.addsitedir
    site.addpackage ${changing('sys.path')} ${changing('sys.modules')} ${changing('sys.path_importer_cache')}`,
  fork: 'os.fork os.forkpty',
  signal: 'os.kill os.killpg signal.pthread_kill psutil.Process psutil.process_iter os.abort',
  privilege: `os.setuid os.setgid os.seteuid os.setegid os.setreuid os.setresuid os.setgroups os.chroot os.unshare os.setns os.initgroups
    os.setpriority resource.setrlimit os.sched_setaffinity os.mount`,
  streams: 'os.dup2 os.dup os.sendfile',
  terminal: 'pty.spawn pty.fork pexpect.spawn pexpect.run',
  information: `os.environ os.getenv os.environb os.uname os.getlogin os.getuid os.getpid os.cpu_count os.getloadavg platform pwd grp getpass
    psutil sys.exit_information os.putenv os.unsetenv sysconfig locale.getdefaultlocale uuid.getnode resource.getrusage os.get_terminal_size
    os.sysconf os.statvfs shutil.disk_usage shutil.which multiprocessing.cpu_count sys.platform_information os.umask os.times os`,
  safe: `os.path os.stat os.lstat os.sep os.linesep os.getcwd os.pathsep os.name os.curdir os.extsep os.fspath os.devnull os.SEEK_SET os.PathLike os.strerror os.altsep
    os.access os.fsencode os.fsdecode os.urandom os.error os.DirEntry os.get_exec_path_safe os.fsync os.close os.write os.read os.lseek os.O_RDONLY os.pipe
    os.O_WRONLY os.O_CREAT os.O_TRUNC os.O_EXCL os.F_OK os.R_OK os.W_OK os.X_OK asyncio logging socket.timeout socket.gaierror socket.error socket.AF_INET
    socket.AF_INET6 socket.SOCK_STREAM socket.SOCK_DGRAM socket.AF_UNIX subprocess.PIPE subprocess.DEVNULL subprocess.STDOUT subprocess.CalledProcessError
    subprocess.TimeoutExpired subprocess.CompletedProcess shutil.Error shutil.get_terminal_size requests.exceptions http.HTTPStatus http.cookies
    urllib.parse urllib.error signal.SIGTERM signal.SIGKILL signal.SIGINT signal.SIGALRM signal.signal signal.alarm pickle.dumps pickle.dump pickle.HIGHEST_PROTOCOL
    importlib.metadata importlib.resources importlib.util.find_spec`,
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

/** Modules whose functions are all harmless, or known one by one above. */
export const knownModules: ReadonlySet<string> = new Set(
  `__future__ abc argparse array ast asyncio atexit base64 bdb binascii bisect bz2 calendar cmath cmd codecs collections colorsys
   concurrent configparser contextlib contextvars copy copyreg csv dataclasses datetime decimal difflib dis doctest email
   encodings enum errno fileinput filecmp fnmatch fractions functools getopt gettext glob graphlib gzip hashlib heapq hmac
   html imghdr importlib inspect io ipaddress itertools json keyword linecache locale logging lzma math mimetypes
   multiprocessing numbers operator optparse os pathlib pickle pickletools pkgutil platform plistlib posixpath ntpath pprint queue quopri random re
   reprlib sched secrets select selectors shelve shlex shutil signal socket sqlite3 ssl stat statistics string stringprep struct
   subprocess symtable sys sysconfig tarfile tempfile textwrap threading time timeit token tokenize tomllib trace traceback
   tracemalloc types typing typing_extensions unicodedata unittest urllib uu uuid warnings wave weakref xml zipfile zlib zoneinfo
   builtins http cProfile profile pstats resource getpass pwd grp curses readline rlcompleter code codeop runpy pty tty termios fcntl mmap
   imaplib smtplib ftplib poplib telnetlib xmlrpc socketserver webbrowser pdb gc marshal ctypes dbm netrc nntplib site posix nt _io _thread crypt
   numpy pandas scipy matplotlib seaborn sklearn statsmodels sympy networkx PIL cv2 skimage plotly bokeh altair tqdm pytest hypothesis
   requests httpx aiohttp bs4 lxml yaml toml dateutil pytz tabulate rich click attr attrs pydantic openpyxl xlrd xlsxwriter docx pptx
   PyPDF2 pypdf reportlab jinja2 markdown nltk spacy gensim torch torchvision tensorflow keras xgboost lightgbm transformers datasets
   joblib dill cloudpickle polars pyarrow duckdb sqlalchemy boto3 botocore paramiko psutil regex simplejson ujson orjson msgpack chardet
   six more_itertools toolz cryptography nacl jwt faker psycopg2 psycopg pymysql redis pymongo openai anthropic selenium playwright
   flask fastapi django uvicorn starlette tornado websockets websocket urllib3 urllib2 httplib zmq pika kafka scapy pexpect fabric
   cffi numba imp zipimport distutils setuptools pycurl dns grpc google azure numexpr jsonpickle commands popen2 cPickle copy_reg pydoc logging`.split(
    /\s+/,
  ),
);

/** Modules that are worth hiding: reached by a text, or through another module, they are a finding. */
export const hiddenModules: ReadonlySet<string> = new Set([
  'os',
  'subprocess',
  'sys',
  'socket',
  'builtins',
  'ctypes',
  'importlib',
  'shutil',
  'pty',
  'posix',
  'nt',
  'pickle',
  'marshal',
  'code',
  'commands',
  'runpy',
]);

/** Attributes from which every object of the interpreter can be reached. */
export const introspective: ReadonlySet<string> = new Set([
  '__subclasses__',
  '__globals__',
  '__builtins__',
  '__bases__',
  '__base__',
  '__mro__',
  'mro',
  '__code__',
  '__closure__',
  'gi_frame',
  'cr_frame',
  'f_globals',
  'f_locals',
  'f_builtins',
  'f_back',
  'tb_frame',
  '__getattribute__',
  '__reduce__',
  '__reduce_ex__',
  '__loader__',
  '__import__',
  'func_globals',
  '__self__',
]);

/** Methods that mean the same on whatever they are called. */
export const tellingMethods: ReadonlyMap<string, Capability> = new Map<string, Capability>([
  ['system', 'shell'],
  ['popen', 'shell'],
  ['Popen', 'program'],
  ['check_output', 'program'],
  ['getoutput', 'shell'],
  ['rmtree', 'delete-tree'],
  ['execve', 'program-words'],
  ['execv', 'program-words'],
  ['execvp', 'program-words'],
  ['import_module', 'import'],
  ['exec_module', 'code'],
  ['load_module', 'code'],
  ['dup2', 'streams'],
  ['run_cell', 'code'],
  ['load_extension', 'native'],
  ['enable_load_extension', 'native'],
  ['subprocess_shell', 'program'],
  ['subprocess_exec', 'program'],
  ['create_connection', 'network'],
  ['create_unix_connection', 'network'],
  ['create_datagram_endpoint', 'network'],
  ['create_server', 'network'],
  ['sock_connect', 'network'],
  ['extractall', 'write'],
  ['runcode', 'code'],
  ['runsource', 'code'],
  ['to_csv', 'write'],
  ['to_json', 'safe'],
  ['to_excel', 'write'],
  ['to_parquet', 'write'],
  ['to_pickle', 'write'],
  ['savefig', 'write'],
  ['write_html', 'write'],
]);

export const builtinNames: ReadonlySet<string> = new Set([
  'eval',
  'exec',
  'compile',
  'open',
  'getattr',
  'setattr',
  'delattr',
  '__import__',
  'globals',
  'locals',
  'vars',
  'input',
  'execfile',
  'chr',
  'ord',
  'bytes',
  'bytearray',
  'str',
  'int',
  'list',
  'tuple',
  'map',
  'reversed',
  'range',
  'format',
  'breakpoint',
  'zip',
  'dict',
  'print',
  'len',
  'memoryview',
  '__loader__',
  '__spec__',
  '__build_class__',
  'raw_input',
  'file',
  'unichr',
  'type',
  'super',
  'dir',
  'hex',
  'sorted',
  'set',
]);
