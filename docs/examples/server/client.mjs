// The client's half: the official HttpAgent, with a stream that outlives its connection.
//
//   const agent = new ThreadAgent({ url: "http://localhost:8000", threadId, headers });
//   await agent.connectAgent(); // what there is of the thread, and a run that goes on, to its end
//   agent.addMessage({ id: randomUUID(), role: "user", content: "How long is this?" });
//   await agent.runAgent();

import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";

export class ThreadAgent extends HttpAgent {
  constructor({ url, fetch, patience, ...config }) {
    super({ ...config, url: `${url}/agent`, fetch: resuming(fetch, patience) });
    // A snapshot of the whole thread comes in the thread's order. The client alone would leave what it has where it is:
    // what was said in this tab in front of what came meanwhile from another.
    this.subscribe({
      onMessagesSnapshotEvent: ({ event }) =>
        event.metadata?.wholeThread ? { messages: event.messages, stopPropagation: true } : undefined,
    });
  }

  // What `connectAgent` reads: the thread, from its beginning.
  connect(input) {
    this.abortController = new AbortController();
    const url = new URL(`threads/${input.threadId}/events`, this.url);
    const init = { headers: this.headers, signal: this.abortController.signal };
    return transformHttpEventStream(runHttpRequest(() => this.fetch(url, init)), this.debugLogger);
  }
}

// A fetch for streams of events. Where the connection drops, it comes back for what is after the last event that
// arrived whole, so that whoever reads sees one stream. It gives up after so many tries in a row that brought nothing.
export function resuming(fetch = (...request) => globalThis.fetch(...request), { tries = 10, pause = 100, most = 5000 } = {}) {
  return async (url, init) => {
    const left = new AbortController();
    const signal = init.signal ? AbortSignal.any([init.signal, left.signal]) : left.signal;
    const first = await fetch(url, { ...init, signal });
    if (!first.ok) return first;

    async function* whole() {
      let id;
      let failed = 0;
      for (let response = first; response?.status !== 204; ) {
        try {
          response ??= await fetch(...again(first, url, init, id, signal));
          if (RETRY.includes(response.status)) throw new Error(`HTTP ${response.status}`);
          if (!response.ok) throw Object.assign(new Error(`HTTP ${response.status}`), { final: true });
          for await (const frame of frames(response.body)) {
            id = /^id: (.*)$/m.exec(frame)?.[1] ?? id;
            failed = 0;
            yield frame;
          }
          return;
        } catch (error) {
          failed += 1;
          if (signal.aborted || error.final || failed === tries) throw error;
          response = undefined;
          await new Promise((resolve) => setTimeout(resolve, Math.min(pause * 2 ** (failed - 1), most)));
        }
      }
    }

    const source = whole();
    const encoder = new TextEncoder();
    const body = new ReadableStream({
      async pull(controller) {
        const { done, value } = await source.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: () => left.abort(),
    });
    return new Response(body, { status: first.status, headers: first.headers });
  };
}

const RETRY = [502, 503, 504];

// Without an event there is nothing to come back to, and the request is made once more: it starts no second run.
function again(first, url, init, id, signal) {
  if (id === undefined) return [url, { ...init, signal }];
  const { "Content-Type": _, ...headers } = init.headers ?? {};
  const events = new URL(first.headers.get("content-location"), first.url);
  return [events, { headers: { ...headers, "Last-Event-ID": id }, signal }];
}

// The frames that arrive whole; what is left of one that does not, is dropped with the connection.
async function* frames(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = ""; ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) yield `${part}\n\n`;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
