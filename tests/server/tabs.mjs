// Browser tabs, as far as a server can tell: each holds one ThreadAgent. One JSON command a line in, one JSON report a
// line out, each with the name of its tab.
//
// Commands: {"do": "open", "url", "token", "threadId", "cuts", "plain"}, {"do": "run", "runId", "message", "props"},
//           {"do": "connect"}, {"do": "leave"}
// Reports:  {"asked": Last-Event-ID or null}, {"heard": id}, {"cut": frames}, {"failed": status or error},
//           {"done": {"messages", "state", "error", "runError"}}
//
// `cuts` says after how many frames each connection in turn is cut, in the middle of the next one; then none is.
// A `plain` tab holds the HttpAgent as it is.

import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";
import { ThreadAgent } from "./client.mjs";

console.warn = console.error = console.log = console.info = console.debug = () => {};

const tabs = new Map();

// A fetch over a line that is cut.
function unreliable(cuts, report) {
  return async (url, init) => {
    report({ asked: new Headers(init.headers).get("last-event-id") });
    const line = new AbortController();
    const response = await fetch(url, { ...init, signal: AbortSignal.any([init.signal, line.signal]) }).catch((error) => {
      report({ failed: String(error) });
      throw error;
    });
    if (!response.ok || response.body === null) {
      report({ failed: response.status });
      return response;
    }
    const cut = cuts.shift() ?? Infinity;
    let heard = 0;
    let rest = "";
    const decoder = new TextDecoder();
    const encoder = new TextEncoder();
    const body = response.body.pipeThrough(
      new TransformStream({
        transform(chunk, controller) {
          const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
          rest = parts.pop();
          for (const part of parts) {
            if (heard === cut) {
              controller.enqueue(encoder.encode(part.slice(0, part.length / 2)));
              report({ cut });
              line.abort();
              controller.error(new TypeError("the line is cut"));
              return;
            }
            heard += 1;
            controller.enqueue(encoder.encode(`${part}\n\n`));
            report({ heard: /^id: (.*)$/m.exec(part)?.[1] ?? null });
          }
        },
      }),
    );
    const answer = new Response(body, { status: response.status, headers: response.headers });
    Object.defineProperty(answer, "url", { value: response.url });
    return answer;
  };
}

async function ended(agent, work) {
  let runError = null;
  const told = { onRunErrorEvent: ({ event }) => void (runError = { message: event.message, code: event.code }) };
  const error = await work(told).then(
    () => null,
    (reason) => ({ message: String(reason.message ?? reason), status: reason.status ?? null, payload: reason.payload }),
  );
  return { done: { messages: agent.messages, state: agent.state, error, runError } };
}

const commands = {
  open(tab, { url, token, threadId, cuts, plain }, report) {
    const headers = { Authorization: `Bearer ${token}` };
    if (plain) {
      tabs.set(tab, new HttpAgent({ url: `${url}/agent`, threadId, headers }));
      return;
    }
    const fetch = unreliable(cuts, report);
    tabs.set(tab, new ThreadAgent({ url, threadId, headers, fetch, patience: { tries: 1000, pause: 1, most: 100 } }));
  },
  async run(tab, { runId, message, props }, report) {
    const agent = tabs.get(tab);
    agent.addMessage(message);
    report(await ended(agent, (told) => agent.runAgent({ runId, forwardedProps: props }, told)));
  },
  leave(tab) {
    tabs.get(tab).abortRun();
  },
  async connect(tab, _, report) {
    const agent = tabs.get(tab);
    report(await ended(agent, (told) => agent.connectAgent({}, told)));
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { tab, do: name, ...given } = JSON.parse(line);
  commands[name](tab, given, (said) => process.stdout.write(`${JSON.stringify({ tab, ...said })}\n`));
}
