// The `fetch` of an HttpAgent that goes on where a stream broke off: the same request again, behind the last event that
// came whole. Events without an id count together with the next one that has an id.
export const resumingFetch = ({ tries = 60, pause = 250, most = 15_000 } = {}) => async (url, init) => {
  let [last, end, left, text, held] = [undefined, undefined, tries, "", ""];
  const open = async () => {
    for (;; left -= 1) {
      const ms = left < tries ? Math.min(pause * 1.3 ** (tries - left - 1), most) : 0;
      if (ms > 0) await new Promise((done) => setTimeout(done, ms));
      const headers = last === undefined ? init.headers : { ...init.headers, "Last-Event-ID": last };
      const response = await fetch(url, { ...init, headers }).catch((error) => {
        if (init.signal?.aborted || left <= 0) throw error;
      });
      if (response && (left <= 0 || ![429, 502, 503, 504].includes(response.status))) return response;
    }
  };
  const read = (response) => response.body.pipeThrough(new TextDecoderStream()).getReader();
  const first = await open();
  if (!first.ok) return first;
  let reader = read(first);
  const pull = async (to) => {
    for (let at, id; ; ) {
      while (id === undefined && (at = text.indexOf("\n\n") + 2) > 1) {
        const [event, data] = [text.slice(0, at), /^data: ?(.*)$/m.exec(text.slice(0, at))?.[1]];
        id = /^id: ?(.*)$/m.exec(event)?.[1];
        [text, held, end] = [text.slice(at), held + event, id && data ? JSON.parse(data).type : end];
      }
      if (id !== undefined) return void ([last, left, held] = [id, tries, (to.enqueue(held), "")]);
      const { value, done } = await reader.read().catch(() => ({ done: true }));
      if (done && init.signal?.aborted) throw new DOMException("the run was left", "AbortError");
      if (done && ["RUN_FINISHED", "RUN_ERROR"].includes(end)) return to.close();
      const again = done && (left -= 1, await open());
      if (again && !again.ok) throw new Error(`HTTP ${again.status}: ${await again.text()}`);
      [text, held, reader] = again ? ["", "", read(again)] : [text + value, held, reader];
    }
  };
  const body = new ReadableStream({ pull, cancel: (why) => reader.cancel(why) });
  return new Response(body.pipeThrough(new TextEncoderStream()), { headers: first.headers });
};
