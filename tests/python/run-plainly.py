# Runs programs one after the other, each as the init of a sandbox starts a command, and tells how they ended.
import base64, json, resource, subprocess, sys

def octets(text):
    return base64.b64decode(text)

def run(program):
    limits = [(getattr(resource, "RLIMIT_" + name.upper()), value) for name, value in program["rlimits"].items()]
    stdin = program["stdin"]
    process = subprocess.Popen(
        [octets(word) for word in program["argv"]],
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=program["cwd"],
        env={octets(name): octets(value) for name, value in program["env"]},
        umask=program["umask"],
        start_new_session=True,
        preexec_fn=lambda: [resource.setrlimit(name, (value, value)) for name, value in limits],
    )
    stdout, stderr = process.communicate(None if stdin is None else octets(stdin))
    return [process.returncode, base64.b64encode(stdout).decode(), base64.b64encode(stderr).decode()]

for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
