// Replays recorded AG-UI streams through the reference client, whole: compatibility boundary,
// enforcement, chunk expansion, verification and application, as `AbstractAgent.runAgent` strings
// them together. One JSON request a line in, one JSON answer a line out, in the same order.
//
// Requests: {"id", "events", "messages"?, "state"?, "threadId"?, "runId"?}
// Answers:  {"id", "accepted", "error", "delivered", "truncated", "runError", "messages", "state",
//            "interrupts", "warnings"}
//
// `accepted` is the client's own verdict. It does not judge the end of a stream, so `truncated`
// says beside it whether a run was left open (spec: basic/transports, "Truncation").

import { createInterface } from "node:readline";
import { AbstractAgent } from "@ag-ui/client";
import { Observable } from "rxjs";

// The client logs every failed run; its warnings are part of the answer. Streams are replayed one
// after another, so whatever is warned belongs to the stream that is running.
let warnings = [];
console.warn = (...parts) => warnings.push(parts.map(String).join(" "));
console.error = console.log = console.info = console.debug = () => {};

const settled = () => new Promise((resolve) => setImmediate(resolve));

class RecordedAgent extends AbstractAgent {
  delivered = 0;

  constructor(config, events) {
    super(config);
    this.events = events;
  }

  // Each event waits until the one before it has been applied. Were they all emitted at once, a
  // rejection would overtake the events in front of it, and the client would seem to lose them.
  run() {
    return new Observable((subscriber) => {
      let cancelled = false;
      (async () => {
        for (const event of this.events) {
          if (cancelled) return;
          this.delivered += 1;
          subscriber.next(event);
          await settled();
        }
        subscriber.complete();
      })().catch((error) => subscriber.error(error));
      return () => {
        cancelled = true;
      };
    });
  }
}

// How the last run of a stream stands after the events that were delivered.
function ending(events) {
  let open = true; // An empty stream has no run that ended.
  let runError = null;
  for (const event of events) {
    if (event?.type === "RUN_STARTED") [open, runError] = [true, null];
    else if (event?.type === "RUN_FINISHED") open = false;
    else if (event?.type === "RUN_ERROR") {
      open = false;
      runError = { message: event.message, ...(event.code !== undefined && { code: event.code }) };
    }
  }
  return { truncated: open, runError };
}

function describe(error) {
  if (!(error instanceof Error)) return String(error);
  return error.message || error.name;
}

async function replay(request) {
  const events = request.events;
  if (!Array.isArray(events)) throw new Error("a request carries a list of events");
  const opening = events.find((event) => event?.type === "RUN_STARTED");
  const agent = new RecordedAgent(
    {
      agentId: "recorded",
      threadId: request.threadId ?? opening?.threadId ?? "thread",
      initialMessages: request.messages ?? [],
      initialState: request.state === undefined ? {} : request.state,
    },
    events,
  );
  let error = null;
  try {
    await agent.runAgent({ runId: request.runId ?? opening?.runId ?? "run" });
  } catch (thrown) {
    error = describe(thrown);
  }
  await settled();
  return {
    id: request.id ?? null,
    accepted: error === null,
    error,
    delivered: agent.delivered,
    // The event that was rejected ends nothing.
    ...ending(events.slice(0, agent.delivered - (error === null ? 0 : 1))),
    messages: agent.messages,
    state: agent.state,
    interrupts: agent.pendingInterrupts,
    warnings,
  };
}

function failure(id, error) {
  return {
    id,
    accepted: false,
    error: describe(error),
    delivered: 0,
    truncated: true,
    runError: null,
    messages: [],
    state: {},
    interrupts: [],
    warnings,
  };
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim() === "") continue;
  warnings = [];
  let answer;
  let id = null;
  try {
    const request = JSON.parse(line);
    id = request?.id ?? null;
    answer = await replay(request);
  } catch (error) {
    answer = failure(id, error);
  }
  if (!process.stdout.write(`${JSON.stringify(answer)}\n`)) {
    await new Promise((resolve) => process.stdout.once("drain", resolve));
  }
}
