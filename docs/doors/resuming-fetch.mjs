// The `fetch` of an HttpAgent that goes on where a stream broke off: the same request again, behind the last event that
// came whole. Events without an id count together with the next one that has an id.
export const resumingFetch = ({ tries = 40, pause = 250 } = {}) => async (url, init) => {
  let last, end, left = tries;
  const open = async () => {
    for (;; left -= 1) {
      if (left < tries) await new Promise((done) => setTimeout(done, pause));
      const headers = last === undefined ? init.headers : { ...init.headers, "Last-Event-ID": last };
      const response = await fetch(url, { ...init, headers }).catch((error) => {
        if (init.signal?.aborted || left <= 0) throw error;
      });
      if (response && (left <= 0 || ![429, 503].includes(response.status))) return response;
    }
  };
  const first = await open();
  if (!first.ok) return first;
  const events = async function* () {
    for (let response = first; ; response = await open()) {
      if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
      let [held, text] = ["", ""];
      try {
        for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
          for (text += part; text.includes("\n\n"); text = text.slice(text.indexOf("\n\n") + 2)) {
            const event = text.slice(0, text.indexOf("\n\n") + 2);
            held += event;
            const id = /^id: ?(.*)$/m.exec(event)?.[1];
            const data = /^data: ?(.*)$/m.exec(event)?.[1];
            if (id === undefined) continue;
            [last, end, left] = [id, data === undefined ? end : JSON.parse(data).type, tries];
            yield held;
            held = "";
          }
        }
      } catch (error) { if (init.signal?.aborted) throw error; }
      if (["RUN_FINISHED", "RUN_ERROR"].includes(end)) return;
      if ((left -= 1) < 0) throw new Error("the stream broke off, and cannot be had again");
    }
  };
  return new Response(ReadableStream.from(events()).pipeThrough(new TextEncoderStream()), { headers: first.headers });
};
