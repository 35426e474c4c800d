// Measures the reference client as it is, for `tests/benchmarks/run.py`. One JSON request a line in,
// one JSON answer a line out.
//
// {"load": PATH}  reads {"messages", "events"} from a file and parses them, outside of what is measured
// {"run": true}   takes the events through the client's whole pipeline on top of the messages
//
// Answers: {"micros": microseconds of processor time per event, "messages": how many there are, "error": what it refused}

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { AbstractAgent } from "@ag-ui/client";
import { from } from "rxjs";

// Its warnings would be part of what is measured, and of the answers.
console.warn = console.error = console.log = console.info = console.debug = () => {};

class Recorded extends AbstractAgent {
  constructor(messages, events) {
    super({ agentId: "recorded", threadId: "t", initialMessages: messages, initialState: {} });
    this.events = events;
  }

  run() {
    return from(this.events);
  }
}

async function measured({ messages, events }) {
  const agent = new Recorded(messages, events);
  let error = null;
  const begun = process.cpuUsage();
  try {
    await agent.runAgent({ runId: "r" });
  } catch (thrown) {
    error = String(thrown?.message ?? thrown);
  }
  const { user, system } = process.cpuUsage(begun);
  const micros = (user + system) / events.length;
  return { micros, messages: agent.messages.length, error };
}

let log = null;
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.load) log = JSON.parse(readFileSync(request.load, "utf8"));
  const answer = request.load ? {} : await measured(log);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
