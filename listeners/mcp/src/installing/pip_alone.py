# Runs pip with the arguments behind it. pip may start no program: it would do so to build a package, which runs code of
# that package, or to fetch one with git.
import runpy
import sys

STARTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"}


class RefusedProgram(OSError):
    pass


def refuse(event, arguments):
    if event not in STARTS:
        return
    words = list(arguments[1]) if event == "subprocess.Popen" and not isinstance(arguments[1], str) else []
    # On musl, pip asks the loader for its version to know which wheels fit.
    if len(words) == 1 and str(words[0]).startswith("/lib/ld-musl-"):
        return
    raise RefusedProgram("pip may start no program here: only a package that is built needs one")


sys.addaudithook(refuse)
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
