"""Draws answers from a grammar in GBNF with llguidance: draw.py COUNT SEED < GRAMMAR

Prints one answer per line, as JSON. Characters that mean something in XML are drawn more often than others, and an answer
that grows long is led to its end. A grammar that does not compile ends it with the words of llguidance.

draw.py --serve SEED: a server of models in the form of OpenAI, which draws its answers from the grammar of each request. It
prints its port, and then a line for each request: the field of the grammar, and the answer.
"""
import json
import random
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import llguidance

SPECIAL = set(b"<>&;\"'[]\\/!?-=#`~\x09\x0a\xc3\xe2\xf0")
END = 256


class Bytes:
    """A vocabulary of all bytes and an end."""
    tokens = [bytes([one]) for one in range(256)] + [b"<|end|>"]
    eos_token_id, bos_token_id = END, None
    special_token_ids = [END]

    def __call__(self, text):
        return list(text.encode() if isinstance(text, str) else text)


TOKENIZER = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Bytes()), slices=[])


def compile_grammar(text):
    matcher = llguidance.LLMatcher(TOKENIZER, llguidance.grammar_from("gbnf", text))
    if matcher.is_error():
        raise ValueError(matcher.get_error())
    return matcher


def draw(matcher, dice):
    matcher.reset()
    drawn = bytearray()
    while not matcher.is_stopped():
        mask = matcher.compute_bitmask()
        allowed = [one for one in range(257) if mask[one // 8] >> (one % 8) & 1]
        if END in allowed and (len(allowed) == 1 or len(drawn) > 60 or dice.random() < 0.3):
            break
        allowed = [one for one in allowed if one != END]
        # A long answer closes what is open.
        closing = [one for one in allowed if len(drawn) > 300 and one in b'</"']
        special = [one for one in allowed if one in SPECIAL]
        pool = closing or (special if special and dice.random() < 0.5 else allowed)
        one = dice.choice(pool)
        assert matcher.consume_token(one), (bytes(drawn), one)
        drawn.append(one)
    return drawn.decode("utf-8")


def find_grammar(request):
    """The grammar of a request, and the field that it is in."""
    for field, text in (("grammar", request.get("grammar")), ("ebnf", request.get("ebnf")),
                        ("structured_outputs", (request.get("structured_outputs") or {}).get("grammar"))):
        if text is not None:
            return field, text
    return None, None


def serve(dice):
    matchers, one_at_a_time = {}, threading.Lock()

    class Door(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            field, text = find_grammar(request)
            with one_at_a_time:
                if text is not None and text not in matchers:
                    matchers[text] = compile_grammar(text)
                answer = draw(matchers[text], dice) if text is not None else "no grammar"
                print(json.dumps({"field": field, "answer": answer}), flush=True)
            body = json.dumps({
                "id": "1", "object": "chat.completion", "model": request["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
            }).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    print(server.server_port, flush=True)
    server.serve_forever()


def main():
    if sys.argv[1] == "--serve":
        return serve(random.Random(int(sys.argv[2])))
    dice = random.Random(int(sys.argv[2]))
    try:
        matcher = compile_grammar(sys.stdin.read())
    except ValueError as fault:
        sys.exit(str(fault))
    for _ in range(int(sys.argv[1])):
        print(json.dumps(draw(matcher, dice)), flush=True)


main()
