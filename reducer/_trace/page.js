"use strict";
// The page of one log. Nothing is folded here: what each event changed of the snapshot, in both layouts, comes with the
// page, and a position is reached by applying the changes before it. Documents are never written to, only replaced.
(() => {
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("log").textContent);
$("log").remove();
const total = data.types.length;
const LAYOUTS = data.sides.map((side) => side.layout);
const [SET, DROP, APPEND] = [0, 1, 2];
const STRIDE = 64;
const KIND_NAMES = { text: "text", reasoning: "reasoning", call: "tool call", result: "tool result", activity: "activity" };

// ---- Positions: what stands after so many events ------------------------------------------------------------------

/** How many of the ascending `positions` are below `limit`. */
function below(positions, limit) {
  let low = 0, high = positions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positions[middle] < limit) low = middle + 1; else high = middle;
  }
  return low;
}

/** `holder` with what `change` makes of the value at `path`, all else shared. */
function replaced(holder, path, at, change) {
  if (at === path.length) return change(holder);
  const copy = Array.isArray(holder) ? holder.slice() : { ...holder };
  const key = path[at], leaf = at === path.length - 1;
  const before = Object.hasOwn(copy, key) ? copy[key] : undefined;
  const after = replaced(before, path, at + 1, change);
  if (leaf && after === undefined) delete copy[key];
  // A key may be `__proto__`, which an assignment would take for something else.
  else Object.defineProperty(copy, key, { value: after, enumerable: true, configurable: true, writable: true });
  return copy;
}

function applied(value, operations) {
  for (const [verb, path, ...rest] of operations) {
    value = replaced(value, path, 0, (old) => {
      if (verb === SET) return data.values[rest[0]];
      if (verb === DROP) return undefined;
      if (verb === APPEND) return old + rest[0];
      const items = old.slice();
      const [start, gone, added] = rest;
      return items.slice(0, start).concat(added.map((number) => data.values[number]), items.slice(start + gone));
    });
  }
  return value;
}

/** A value with a history: `step(value, change)` applies one of its changes. Going on is cheap, going back nearly so. */
class History {
  constructor(start, step) {
    this.start = start;
    this.step = step;
    this.positions = [];
    this.changes = [];
    this.kept = [start];
    this.count = 0;
    this.value = start;
  }

  push(position, change) {
    this.positions.push(position);
    this.changes.push(change);
  }

  /** The value after `position` events. */
  at(position) {
    const wanted = below(this.positions, position);
    if (wanted < this.count || wanted - this.count > STRIDE) {
      const from = Math.min(Math.floor(wanted / STRIDE), this.kept.length - 1);
      if (wanted < this.count || from * STRIDE > this.count) {
        this.count = from * STRIDE;
        this.value = this.kept[from];
      }
    }
    while (this.count < wanted) {
      this.value = this.step(this.value, this.changes[this.count]);
      this.count += 1;
      if (this.count % STRIDE === 0 && this.count / STRIDE === this.kept.length) this.kept.push(this.value);
    }
    return this.value;
  }
}

function spliced(items, [, start, gone, added]) {
  return items.slice(0, start).concat(added, items.slice(start + gone));
}

function listed(splices) {
  const history = new History([], spliced);
  for (const splice of splices) history.push(splice[0], splice);
  return history;
}

/** A change of a message is a record `[position, slot, first, last, entity, operations]` or the number of a write. */
function stepped(side) {
  return (shown, change) => {
    if (typeof change === "number") {
      const [position, delta] = data.deltas[change];
      const path = data.targets[data.wrote[change]][side][1];
      const message = delta ? replaced(shown.message, path, 0, (old) => old + delta) : shown.message;
      return { message, first: shown.first, last: position, entity: shown.entity };
    }
    const [, , first, last, entity, operations] = change;
    const message = operations ? applied(shown.message, operations) : shown.message;
    return { message, first, last, entity };
  };
}

const writeAt = new Map(data.deltas.map(([position], number) => [position, number]));
const sides = data.sides.map((side, number) => {
  const slots = [], step = stepped(number);
  // Records and writes each come in order; a message's history is the two merged.
  let next = 0;
  const write = (until) => {
    for (; next < data.deltas.length && data.deltas[next][0] < until; next += 1) {
      const place = data.targets[data.wrote[next]][number];
      if (place) slots[place[0]].push(data.deltas[next][0], next);
    }
  };
  for (const change of side.changes) {
    write(change[0]);
    if (!slots[change[1]]) slots[change[1]] = new History({ message: null, first: 0, last: 0, entity: -1 }, step);
    slots[change[1]].push(change[0], change);
  }
  write(Infinity);
  // Which messages ever showed an entity, so that nobody has to look at all of them.
  const showing = new Map();
  for (const [, slot, , , entity] of side.changes) {
    if (!showing.has(entity)) showing.set(entity, new Set());
    showing.get(entity).add(slot);
  }
  return { layout: side.layout, slots, order: listed(side.order), showing };
});
const pending = listed(data.pending);
const aside = new History(null, (value, [, operations]) => applied(value, operations));
for (const change of data.aside) aside.push(change[0], change);

const anomalyPositions = data.anomalies.map(([position]) => position);

/** The runs; one that still goes on lasts until the last event. */
function runsAt(position) {
  return aside.at(position).runs.map((run) => (run.span[1] === null ? { ...run, span: [run.span[0], position - 1] } : run));
}

function snapshot(position, layout) {
  const side = sides[LAYOUTS.indexOf(layout)];
  const { state, ...rest } = aside.at(position), runs = runsAt(position);
  const starts = runs.map((run) => run.span[0]);
  const shown = side.order.at(position).map((slot) => side.slots[slot].at(position));
  const count = Math.min(below(anomalyPositions, position), data.kept);
  return {
    ...rest,
    state,
    runs,
    messages: shown.map((one) => one.message),
    origins: shown.map(({ message, first, last }) => ({
      span: [first, last],
      runId: runs[below(starts, first + 1) - 1]?.runId ?? null,
      owner: message.subagentRunId ?? null,
    })),
    pendingToolCalls: pending.at(position),
    anomalies: data.anomalies.slice(0, count).map(([at, code, detail]) => (
      { code, position: at, event: typeOf(at), detail, fatal: data.rules[code][1] })),
  };
}

// ---- Words --------------------------------------------------------------------------------------------------------

function typeOf(position) { return data.typeNames[data.types[position]]; }
function nameOf(position) { return data.nameTexts[data.names[position]]; }

function textOf(position) {
  const write = writeAt.get(position);
  if (write !== undefined && data.deltas[write][1]) return JSON.stringify(data.deltas[write][1]);
  const told = data.texts[position] ?? "", from = told.lastIndexOf(',"delta":"');
  return from < 0 ? "" : told.slice(from + 9, -1);
}

function jsonOf(position) {
  const text = data.texts[position];
  if (text === undefined) return textOf(position);
  try { return printed(JSON.parse(text)); } catch { return `${text} … (${data.longest} characters of it)`; }
}

function printed(value, limit = 100000, indent = 2) {
  let text;
  try {
    text = JSON.stringify(value, (_, held) => (held && typeof held === "object" && "#int" in held ? BigJson(held["#int"]) : held), indent);
  } catch { return "(nests too deeply to be shown)"; }
  if (text === undefined) return "";
  return text.length > limit ? `${text.slice(0, limit)} …` : text;
}
const BigJson = (digits) => (JSON.rawJSON ? JSON.rawJSON(digits) : digits);

const laneNames = data.lanes.map((owner) => owner ?? "parent agent");
for (const run of runsAt(total)) {
  for (const sub of run.subagents ?? []) {
    const lane = data.lanes.indexOf(sub.subagentRunId);
    if (lane > 0 && sub.name) laneNames[lane] = `${sub.name} · ${sub.subagentRunId}`;
  }
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function clipped(text, limit) { return text.length > limit ? `${text.slice(0, limit)}…` : text; }
function counted(number, noun, plural = `${noun}s`) { return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`; }

// ---- What happened ------------------------------------------------------------------------------------------------

const rows = data.rows.map(([entity, ordinal, lane, first, last, cut, grouped, stated]) => (
  { entity, ordinal, lane, first, last, cut, grouped, stated, kind: data.entities[entity][0], track: 0 }));
const rowsOf = new Map();
for (const row of rows) {
  if (!rowsOf.has(row.entity)) rowsOf.set(row.entity, []);
  rowsOf.get(row.entity).push(row);
}
const calls = data.calls.map(([entity, name, lane, first, last, row, answered]) => (
  { entity, name, lane, first, last, row: row === null ? null : rows[row], answered }));
const callOf = new Map(calls.map((call) => [call.entity, call]));
const callsOf = new Map();
const callsById = new Map();
for (const call of calls) {
  const id = data.entities[call.entity][1];
  if (!callsById.has(id)) callsById.set(id, []);
  callsById.get(id).push(call.entity);
  if (call.row) {
    if (!callsOf.has(call.row)) callsOf.set(call.row, []);
    callsOf.get(call.row).push(call);
  }
}
const eventsOf = new Map();
data.touched.forEach((touched, position) => {
  for (const entity of typeof touched === "number" ? [touched] : touched) {
    if (!eventsOf.has(entity)) eventsOf.set(entity, []);
    eventsOf.get(entity).push(position);
  }
});

/** The positions of the events that built a message. */
function builtBy(shown) {
  const found = new Set();
  const whole = state.layout === "merged";
  for (const position of eventsOf.get(shown.entity) ?? []) {
    const value = typeOf(position) === "REASONING_ENCRYPTED_VALUE" && shown.message.encryptedValue !== undefined;
    if (whole || value || (position >= shown.first && position <= shown.last)) found.add(position);
  }
  for (const call of shown.message.toolCalls ?? []) {
    for (const entity of callsById.get(call.id) ?? []) for (const position of eventsOf.get(entity) ?? []) found.add(position);
  }
  return [...found].sort((one, other) => one - other);
}

// ---- Lanes: where everything is drawn -----------------------------------------------------------------------------

const RULER = 34, LABEL = 18, GAP = 8, PAD = 12;
let TRACK = 17, BAR = 13;
const bands = [];
(() => {
  const lanes = data.lanes.map((_, number) => ({ number, rows: [], first: Infinity, last: -1, tracks: 0, band: null }));
  for (const row of rows) {
    const lane = lanes[row.lane];
    lane.rows.push(row);
    lane.first = Math.min(lane.first, row.first);
    lane.last = Math.max(lane.last, row.last);
  }
  const room = Math.max(4, total / 60);
  for (const lane of lanes.filter((one) => one.rows.length).sort((one, other) => one.first - other.first)) {
    const ends = [];
    for (const row of lane.rows.sort((one, other) => one.first - other.first)) {
      let track = ends.findIndex((end) => end < row.first);
      if (track < 0) track = ends.length < 24 ? ends.length : 23;
      ends[track] = Math.max(ends[track] ?? -1, row.last);
      row.track = track;
    }
    lane.tracks = ends.length;
    // The parent agent has a band of its own; subagents share one where they never meet.
    let band = lane.number === 0 ? null : bands.find((one) => !one.parent && one.last + room < lane.first);
    if (!band) {
      band = { parent: lane.number === 0, last: -1, lanes: [], tracks: 0, top: 0 };
      if (lane.number === 0) bands.unshift(band); else bands.push(band);
    }
    band.lanes.push(lane);
    band.last = Math.max(band.last, lane.last);
    band.tracks = Math.max(band.tracks, lane.tracks);
    for (const row of lane.rows) row.band = band;
  }
})();

/** Put the bands one below the other, the bars taller where there is room for it. */
function stack(room) {
  for ([TRACK, BAR] of [[28, 22], [22, 17], [17, 13]]) {
    let top = RULER + GAP;
    for (const band of bands) {
      band.top = top;
      top += LABEL + band.tracks * TRACK + GAP;
    }
    bands.height = top;
    if (top <= room) return;
  }
}
const runs = runsAt(total);

// ---- The page's state ---------------------------------------------------------------------------------------------

const state = { position: total, layout: "streamed", tab: "messages", slot: null, entity: null, zoom: 1, fitted: true, query: "" };
const side = () => sides[LAYOUTS.indexOf(state.layout)];
/** The messages that show an entity now, in order. */
function showing(entity) {
  const slots = side().showing.get(entity);
  return slots ? [...slots].filter((slot) => shownAt(slot).entity === entity && isShown(slot)) : [];
}
const placed = { order: null, set: null };
function isShown(slot) {
  const order = side().order.at(state.position);
  if (placed.order !== order) { placed.order = order; placed.set = new Set(order); }
  return placed.set.has(slot);
}
const shownAt = (slot) => side().slots[slot].at(state.position);

let waiting = 0;
function later() {
  if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; render(); });
}

function go(position, { follow = true } = {}) {
  position = Math.max(0, Math.min(total, Math.round(position)));
  if (position === state.position) return;
  state.position = position;
  if (follow) reveal(position);
  cards.wish = "now";
  later();
}

function choose(slot, { scroll = true } = {}) {
  state.slot = slot;
  const shown = slot === null ? null : shownAt(slot);
  state.entity = shown && shown.message ? shown.entity : null;
  built.order = null;
  if (scroll && slot !== null) cards.wish = slot;
  later();
}

function lay(layout) {
  if (layout === state.layout) return;
  const entity = state.entity;
  state.layout = layout;
  state.slot = null;
  for (const input of document.querySelectorAll("[name=layout]")) input.checked = input.value === layout;
  cards.heights.clear();
  if (entity !== null) {
    choose(showing(entity)[0] ?? null);
  }
  cards.wish = cards.wish ?? "now";
  later();
}

/** Select what shows an entity, going on to where it is shown if need be. */
function chooseEntity(entity, from, until) {
  const fits = (slot) => { const one = shownAt(slot); return one.first <= until && one.last >= from; };
  const find = () => showing(entity).find(fits);
  let slot = find();
  if (slot === undefined) {
    go(until + 1);
    slot = find();
  }
  choose(slot ?? showing(entity)[0] ?? null);
  state.entity = entity;
  tab("messages");
}

// ---- Drawing the lanes --------------------------------------------------------------------------------------------

const canvas = $("canvas"), scroller = $("scroll"), pen = canvas.getContext("2d");
let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "raised", "sunk", "line", "strong", "ink", "soft", "focus", "chosen", "text", "reasoning",
    "group", "result", "activity", "anomaly", "sans", "mono"]) colours[name] = style.getPropertyValue(`--${name}`).trim();
}
const width = () => scroller.clientWidth, height = () => scroller.clientHeight;
const fitting = () => Math.max(0.002, (width() - 2 * PAD) / Math.max(total, 1));
// Where the lanes are scrolled to, asked once: asking the document for each bar would cost more than drawing it.
const view = { left: 0, top: 0 };
function see() { view.left = scroller.scrollLeft; view.top = scroller.scrollTop; }
const x = (position) => PAD + position * state.zoom - view.left;
const positionAt = (at) => (at + view.left - PAD) / state.zoom;
const yOf = (row) => row.band.top + LABEL + row.track * TRACK - view.top;

function resize() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width() * ratio);
  canvas.height = Math.round(height() * ratio);
  canvas.style.width = `${width()}px`;
  canvas.style.height = `${height()}px`;
  stack(height());
  if (state.fitted) state.zoom = fitting();
  room();
}

function room() {
  $("room").style.width = `${Math.ceil(2 * PAD + total * state.zoom)}px`;
  $("room").style.height = `${bands.height}px`;
}

function zoom(factor, around = x(state.position)) {
  see();
  const at = positionAt(around);
  state.zoom = Math.min(48, Math.max(fitting(), factor ? state.zoom * factor : fitting()));
  state.fitted = state.zoom <= fitting() * 1.0001;
  room();
  scroller.scrollLeft = PAD + at * state.zoom - around;
  see();
  later();
}

function reveal(position) {
  see();
  const at = x(position);
  if (at < 40 || at > width() - 40) scroller.scrollLeft += at - width() / 2;
}

function boxed(left, top, wide, high, radius = 3) {
  if (wide < 5) { pen.fillRect(left, top, wide, high); return; }
  pen.beginPath();
  pen.roundRect(left, top, wide, high, Math.min(radius, wide / 2));
  pen.fill();
}

function draw() {
  const ratio = window.devicePixelRatio || 1, wide = width(), high = height();
  see();
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = colours.sunk;
  pen.fillRect(0, 0, wide, high);
  pen.textBaseline = "middle";
  drawLanes(wide, high);
  for (const row of rows) {
    if (x(row.first) < wide && x(row.last + 1) > 0) {
      const top = yOf(row);
      if (top < high && top > RULER - TRACK && !isHidden(row)) drawRow(row, top);
    }
  }
  for (const value of data.sealed) drawValue(value, wide, high);
  drawRuler(wide);
  const now = x(state.position);
  pen.fillStyle = colours.focus;
  pen.fillRect(now - 1, 0, 2, high);
}

/** Whether a row is too small to be seen beside the one that was drawn before it. */
function isHidden(row) {
  const left = x(row.first), right = x(row.last + 1), drawn = row.band.drawn;
  if (right - left < 1.5 && left - (drawn[row.track] ?? -9) < 0.8 && row.entity !== state.entity) return true;
  drawn[row.track] = Math.max(left, drawn[row.track] ?? -9);
  return false;
}

function drawLanes(wide, high) {
  pen.font = `11px ${colours.sans}`;
  for (const band of bands) {
    band.drawn = [];
    const top = band.top - view.top;
    const tall = LABEL + band.tracks * TRACK;
    if (top > high || top + tall < 0) continue;
    for (const lane of band.lanes) {
      const left = Math.max(band.parent ? 0 : x(lane.first) - 3, -4);
      const right = Math.min(band.parent ? wide : x(lane.last + 1) + 3, wide + 4);
      if (right < 0 || left > wide) continue;
      pen.fillStyle = colours.paper;
      boxed(left, top, right - left, tall, 5);
      if (right - left < 24) continue;
      pen.save();
      pen.beginPath();
      pen.rect(left, top, right - left, LABEL);
      pen.clip();
      pen.fillStyle = colours.soft;
      pen.fillText(laneNames[lane.number], Math.max(left, 0) + 7, top + LABEL / 2);
      pen.restore();
    }
  }
}

function drawRow(row, top) {
  const left = x(row.first), right = Math.max(x(row.last + 1), left + 1.5);
  const dim = state.entity !== null && row.entity !== state.entity && !(callsOf.get(row) ?? []).some((call) => call.entity === state.entity);
  const colour = colours[row.kind === "text" && row.grouped !== null && row.grouped <= row.first ? "group" : row.kind];
  const done = Math.min(Math.max(x(state.position), left), right);
  const strength = dim ? 0.3 : 1;
  pen.fillStyle = colour;
  // What is still to come is faint.
  if (done < right) { pen.globalAlpha = 0.28 * strength; boxed(left, top, right - left, BAR); }
  if (done > left) { pen.globalAlpha = (row.grouped !== null && row.grouped <= row.first ? 0.45 : 0.85) * strength; boxed(left, top, Math.max(done - left, 1.5), BAR); }
  if (row.grouped !== null) {
    pen.fillStyle = colours.group;
    for (const call of callsOf.get(row) ?? []) {
      const from = x(call.first), to = Math.max(x(call.last + 1), from + 1.5);
      pen.globalAlpha = (call.first < state.position ? 1 : 0.35) * strength;
      boxed(from, top + 3, to - from, BAR - 6, 2);
    }
  }
  pen.globalAlpha = strength;
  if (row.ordinal > 0 && right - left > 5) {
    // A continuation is open to the left.
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(left + 3.5, top + 3); pen.lineTo(left - 0.5, top + BAR / 2); pen.lineTo(left + 3.5, top + BAR - 3);
    pen.stroke();
  }
  if (row.cut !== null && row.cut <= state.position && state.zoom > 0.3) {
    pen.fillStyle = colours.ink;
    // It was open until then, though nothing was written any more.
    if (x(row.cut) - right > 2) pen.fillRect(right, top + BAR / 2 - 0.5, x(row.cut) - right, 1);
    pen.fillRect(x(row.cut) - 1, top - 2, 2.5, BAR + 4);
  }
  if (row.entity === state.entity) {
    pen.strokeStyle = colours.focus;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.roundRect(left - 1, top - 1, right - left + 2, BAR + 2, 4);
    pen.stroke();
  }
  pen.globalAlpha = 1;
  if (right - left > 46) labelled(row, left, right, top, dim);
}

function labelled(row, left, right, top, dim) {
  pen.save();
  pen.beginPath();
  pen.rect(Math.max(left, 0), top, right - left - 4, BAR);
  pen.clip();
  pen.font = `600 ${TRACK < 20 ? 10 : 11}px ${colours.sans}`;
  // What is faint needs letters of the other shade.
  const pale = dim || row.first >= state.position;
  pen.fillStyle = pale ? colours.ink : colours.raised;
  const [, id] = data.entities[row.entity];
  const name = row.kind === "text" && callsOf.has(row) && row.grouped <= row.first ? callsOf.get(row).map((call) => call.name).join(", ") : id;
  pen.fillText(clipped(row.ordinal ? `${name}#${row.ordinal}` : name, 60), Math.max(left, 0) + 6, top + BAR / 2 + 0.5);
  pen.restore();
}

function drawValue([position, entity, , , late], wide, high) {
  if (!late || entity < 0) return;
  const call = callOf.get(entity);
  const row = call ? call.row : (rowsOf.get(entity) ?? []).findLast((one) => one.first <= position);
  if (!row) return;
  const from = x(Math.min(call ? call.last : row.last, position) + 0.5), to = x(position + 0.5);
  const top = yOf(row);
  if (to < 0 || from > wide || top > high || top < RULER - TRACK) return;
  const chosen = state.entity === entity, colour = colours[call ? "group" : row.kind];
  pen.globalAlpha = (position < state.position ? 1 : 0.35) * (state.entity !== null && !chosen ? 0.3 : 1);
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = chosen ? 2.5 : 1.5;
  const rise = Math.min(16, 5 + (to - from) / 6);
  pen.beginPath();
  pen.moveTo(from, top + 1);
  pen.bezierCurveTo(from + (to - from) * 0.15, top - rise, to - (to - from) * 0.15, top - rise, to, top + 1);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(to, top - 3); pen.lineTo(to + 4, top + 1); pen.lineTo(to, top + 5); pen.lineTo(to - 4, top + 1);
  pen.fill();
  pen.globalAlpha = 1;
}

function drawRuler(wide) {
  pen.fillStyle = colours.raised;
  pen.fillRect(0, 0, wide, RULER);
  pen.fillStyle = colours.line;
  pen.fillRect(0, RULER - 1, wide, 1);
  pen.font = `10px ${colours.sans}`;
  for (const run of runs) {
    const left = x(run.span[0]), right = x(run.span[1] + 1);
    if (right < 0 || left > wide) continue;
    pen.fillStyle = run.status === "error" || run.status === "truncated" ? colours.anomaly : colours.strong;
    pen.fillRect(left, 0, Math.max(right - left - 1, 1), 3);
    if (right - left > 60) {
      pen.save();
      pen.beginPath();
      pen.rect(left, 3, right - left - 6, 14);
      pen.clip();
      pen.fillStyle = colours.soft;
      pen.fillText(`${run.runId ?? "run"} · ${run.status}`, Math.max(left, 0) + 6, 11);
      pen.restore();
    }
  }
  const step = [1, 2, 5].flatMap((one) => [1, 10, 100, 1000, 10000, 100000].map((ten) => one * ten))
    .sort((one, other) => one - other).find((one) => one * state.zoom > 56) ?? total;
  pen.fillStyle = colours.soft;
  for (let at = Math.max(0, Math.floor(positionAt(0) / step) * step); x(at) < wide && at <= total; at += step) {
    pen.fillRect(x(at), RULER - 6, 1, 5);
    if (x(at) < wide - 36) pen.fillText(at.toLocaleString("en"), x(at) + 3, RULER - 9);
  }
  pen.fillStyle = colours.anomaly;
  let drawn = -Infinity;
  for (let number = below(anomalyPositions, positionAt(-8)); number < anomalyPositions.length; number += 1) {
    const at = x(anomalyPositions[number] + 0.5);
    if (at > wide + 8) break;
    if (at - drawn < 1) continue;
    drawn = at;
    pen.beginPath();
    pen.moveTo(at, RULER - 12); pen.lineTo(at + 5, RULER - 2); pen.lineTo(at - 5, RULER - 2);
    pen.fill();
  }
}

function rowAt(left, top) {
  const slack = 3 / state.zoom, at = positionAt(left);
  for (const row of rows) {
    const y = yOf(row);
    if (top >= y - 2 && top <= y + BAR + 2 && at >= row.first - slack && at <= row.last + 1 + slack) return row;
  }
  return null;
}

// ---- Lists that hold in the document only what is seen ------------------------------------------------------------

/** Lines of one height. `line(item)` gives the text, `at` and whether it is where we are. */
class Lines {
  constructor(holder, line, click) {
    this.holder = holder;
    this.line = line;
    this.click = click;
    this.items = [];
    this.list = element("div", "list");
    holder.addEventListener("scroll", () => this.draw(), { passive: true });
  }

  show(items, current = -1) {
    this.items = items;
    if (this.list.parentNode !== this.holder) this.holder.replaceChildren(this.list);
    this.list.style.height = `${items.length * 28}px`;
    if (current >= 0) {
      const top = current * 28;
      if (top < this.holder.scrollTop || top + 28 > this.holder.scrollTop + this.holder.clientHeight) {
        this.holder.scrollTop = top - this.holder.clientHeight / 2;
      }
    }
    this.draw();
  }

  draw() {
    if (this.list.parentNode !== this.holder) return;
    const first = Math.max(0, Math.floor(this.holder.scrollTop / 28) - 4);
    const last = Math.min(this.items.length, first + Math.ceil(this.holder.clientHeight / 28) + 8);
    const focused = document.activeElement?.dataset?.number;
    const inside = this.list.contains(document.activeElement);
    const made = [];
    for (let number = first; number < last; number += 1) {
      const { at, text, on } = this.line(this.items[number]);
      const button = element("button", on ? "item on" : "item");
      button.type = "button";
      button.dataset.number = number;
      button.style.top = `${number * 28}px`;
      button.append(element("span", "at", at), text);
      button.addEventListener("click", () => this.click(this.items[number]));
      made.push(button);
    }
    this.list.replaceChildren(...made);
    if (inside) made.find((one) => one.dataset.number === focused)?.focus({ preventScroll: true });
  }
}

function listbox() {
  const made = element("div", "list");
  made.setAttribute("role", "listbox");
  made.setAttribute("aria-label", "Messages");
  return made;
}

/** The messages: cards of any height; what was not measured yet is guessed. */
const cards = {
  heights: new Map(), list: listbox(), wish: null, drawn: "",

  heightOf(slot) { return this.heights.get(slot) ?? 74; },

  show() {
    const panel = $("panel"), order = side().order.at(state.position);
    if (!order.length) {
      panel.replaceChildren(element("p", "none-here", "No message shows yet."));
      this.wish = null;
      return;
    }
    if (this.list.parentNode !== panel) panel.replaceChildren(this.list);
    if (this.wish !== null) this.scrollTo(order, this.wish);
    // What is drawn has heights that differ from the guesses, so where things stand is settled by drawing again.
    for (let round = 0; round < 4 && this.draw(order); round += 1) if (this.wish !== null) this.scrollTo(order, this.wish);
    this.wish = null;
  },

  scrollTo(order, wish) {
    const panel = $("panel");
    let slot = wish;
    if (wish === "now") {
      slot = nowSlot();
      if (slot === null) return;
    }
    let top = 0;
    for (const one of order) { if (one === slot) break; top += this.heightOf(one); }
    const tall = this.heightOf(slot);
    if (top < panel.scrollTop || top + tall > panel.scrollTop + panel.clientHeight) {
      panel.scrollTop = tall > panel.clientHeight ? top : top + tall - panel.clientHeight * 0.8;
    }
  },

  /** Draw what is seen; say whether a height was not what it was taken for. */
  draw(order) {
    const panel = $("panel"), now = nowSlot();
    const from = panel.scrollTop - 300, until = panel.scrollTop + panel.clientHeight + 300;
    let top = 0, changed = false;
    const made = [];
    order.forEach((slot, number) => {
      const tall = this.heightOf(slot);
      if (top + tall > from && top < until) made.push({ card: card(slot, number, order.length, slot === now), slot, top });
      top += tall;
    });
    this.list.style.height = `${top}px`;
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.slot : null;
    this.list.replaceChildren(...made.map(({ card: one, top: at }) => { one.style.top = `${at}px`; return one; }));
    if (focused !== null) made.find(({ slot }) => String(slot) === focused)?.card.focus({ preventScroll: true });
    for (const { card: one, slot } of made) {
      const tall = one.offsetHeight;
      if (tall && tall !== this.heightOf(slot)) { this.heights.set(slot, tall); changed = true; }
    }
    return changed;
  },
};

/** The message that the last event touched. */
function nowSlot() {
  if (!state.position) return null;
  const touched = data.touched[state.position - 1];
  let found = null;
  for (const entity of typeof touched === "number" ? [touched] : touched) {
    const call = callOf.get(entity);
    for (const slot of showing(call?.row ? call.row.entity : entity)) {
      if (shownAt(slot).last === state.position - 1) return slot;
      found = slot;
    }
  }
  return found;
}

function kindOf({ message, entity }) {
  if (message.role === "tool") return "result";
  if (message.role === "activity") return "activity";
  if (message.role === "reasoning") return "reasoning";
  return message.toolCalls && !message.content ? "group" : "text";
}

function marked(holder, text) {
  const query = state.query.toLowerCase();
  if (!query) { holder.append(text); return; }
  const low = text.toLowerCase();
  let at = 0, hits = 0;
  for (let found = low.indexOf(query); found >= 0 && hits < 40; found = low.indexOf(query, at), hits += 1) {
    holder.append(text.slice(at, found), element("mark", "", text.slice(found, found + query.length)));
    at = found + query.length;
  }
  holder.append(text.slice(at));
}

function card(slot, number, count, now) {
  const shown = shownAt(slot), message = shown.message;
  const made = element("article", now ? "card now" : "card");
  made.tabIndex = 0;
  made.dataset.slot = slot;
  made.setAttribute("role", "option");
  made.setAttribute("aria-posinset", number + 1);
  made.setAttribute("aria-setsize", count);
  made.setAttribute("aria-selected", slot === state.slot);
  const head = element("div", "head");
  head.append(element("span", `kind k-${kindOf(shown)}`, message.role), element("span", "mono", clipped(message.id, 80)));
  if (message.subagentRunId !== undefined) head.append(element("span", "", clipped(laneNames[data.lanes.indexOf(message.subagentRunId)] ?? message.subagentRunId, 60)));
  head.append(element("span", "where", shown.first === shown.last ? `event ${shown.first}` : `events ${shown.first}–${shown.last}`));
  made.append(head);
  const { id, role, content, toolCalls, subagentRunId, ...more } = message;
  const chosen = slot === state.slot, limit = chosen ? 100000 : 700;
  const text = typeof content === "string" ? content : content === undefined ? null : printed(content, chosen ? limit : 240, chosen ? 2 : 0);
  if (text) { const body = element("div", "body"); marked(body, clipped(text, limit)); made.append(body); }
  else if (!toolCalls) made.append(element("div", "body none", "no content"));
  for (const call of (toolCalls ?? []).slice(0, 50)) {
    const line = element("div", "call mono");
    line.append(element("b", "", clipped(call.function.name, 80)), " ");
    marked(line, clipped(call.function.arguments, limit));
    line.title = call.id;
    made.append(line);
    const { id: callId, type, function: called, ...rest } = call;
    describe(made, rest, chosen);
  }
  if (toolCalls && toolCalls.length > 50) made.append(element("div", "more", `and ${toolCalls.length - 50} calls more`));
  describe(made, more, chosen);
  made.addEventListener("click", () => { if (String(getSelection())) return; choose(state.slot === slot ? null : slot, { scroll: false }); });
  return made;
}

function describe(holder, more, whole = true) {
  const limit = whole ? 400 : 90;
  for (const [name, value] of Object.entries(more).slice(0, 20)) {
    holder.append(element("div", "more mono", `${name}: ${clipped(typeof value === "string" ? value : printed(value, limit), limit)}`));
  }
}

// ---- Panels -------------------------------------------------------------------------------------------------------

function lineOf(position) {
  const id = nameOf(position), text = textOf(position);
  return { at: String(position), text: clipped(`${typeOf(position)}  ${text || id || ""}`, 160), on: position === state.position - 1 };
}

const built = { order: null, lines: null, slot: null };
const foundLines = new Lines($("panel"), (found) => (found.position === undefined
  ? { at: "❝", text: found.text, on: found.slot === state.slot }
  : { ...lineOf(found.position), on: found.position === state.position - 1 }), (found) => {
  if (found.position !== undefined) { go(found.position + 1); return; }
  const { entity, first, last } = side().slots[found.slot].at(total);
  chooseEntity(entity, first, last);
});
const anomalyLines = new Lines($("panel"), (number) => {
  const [position, code, detail] = data.anomalies[number];
  return { at: String(position), text: clipped(`${code}${data.rules[code][1] ? " (fatal)" : ""}  ${detail}`, 200), on: position === state.position - 1 };
}, (number) => go(data.anomalies[number][0] + 1));

function buildUp() {
  const pane = $("built");
  const shown = state.slot === null ? null : shownAt(state.slot);
  if (!shown || !shown.message || !isShown(state.slot)) { pane.hidden = true; return; }
  const events = builtBy(shown);
  if (pane.hidden || built.slot !== state.slot) {
    built.slot = state.slot;
    const bar = element("div", "bar");
    built.title = element("h3");
    const close = element("button", "", "Close");
    close.type = "button";
    close.addEventListener("click", () => choose(null));
    bar.append(built.title, close);
    const holder = element("div", "rows");
    pane.replaceChildren(bar, holder);
    built.lines = new Lines(holder, lineOf, (position) => go(position + 1));
    pane.hidden = false;
  }
  built.events = events;
  built.title.textContent = `${counted(events.length, "event")} built ${clipped(shown.message.id, 60)}`;
  built.lines.show(events, events.indexOf(state.position - 1));
}

function showEvent() {
  const pane = $("event"), at = state.position - 1;
  if (at < 0) { pane.replaceChildren(element("p", "", "Before the first event.")); return; }
  const title = element("h3");
  title.append(`${at} · `, element("code", "", typeOf(at)));
  const lines = [title];
  const about = [nameOf(at), laneNames[data.owners[at]]].filter(Boolean).map((text) => clipped(text, 200)).join(" · ");
  lines.push(element("p", "", about));
  for (let number = below(anomalyPositions, at); anomalyPositions[number] === at && lines.length < 20; number += 1) {
    const [, code, detail] = data.anomalies[number];
    const [meaning, fatal, page] = data.rules[code];
    lines.push(element("p", "warn", `${fatal ? "Fatal: " : ""}${meaning} ${detail} (${code}; spec: ${page})`));
  }
  for (const row of cutAt.get(at) ?? []) {
    lines.push(element("p", "", `Cuts ${KIND_NAMES[row.kind]} ${clipped(data.entities[row.entity][1], 80)}: what follows goes to a new row.`));
  }
  const json = jsonOf(at);
  if (json) lines.push(element("pre", "", clipped(json, 20000)));
  pane.replaceChildren(...lines);
}
const cutAt = new Map();
for (const row of rows) if (row.cut !== null) cutAt.set(row.cut, [...(cutAt.get(row.cut) ?? []), row]);

function showRuns() {
  const { interrupts, usage } = aside.at(state.position), all = runsAt(state.position);
  const made = [];
  const block = (title, value) => {
    if (value.length) made.push(element("h2", "run", title), element("pre", "", printed(value, 20000)));
  };
  for (const run of all.slice(-100).reverse()) {
    const line = element("div", "run");
    line.append(element("code", "", run.runId ?? "(no id)"), ` · ${run.status} · events ${run.span[0]}–${run.span[1]}`);
    const { runId, status, span, threadId, ...more } = run;
    describe(line, more);
    made.push(line);
  }
  if (all.length > 100) made.push(element("p", "none-here", `and ${counted(all.length - 100, "earlier run")}`));
  const last = made.splice(0);
  block("Open interrupts", interrupts);
  block("Calls without a result", pending.at(state.position));
  block("Tokens", usage);
  $("panel").replaceChildren(...made, ...last);
}

function tab(name) {
  state.tab = name;
  for (const one of document.querySelectorAll("[role=tab]")) {
    const on = one.id === `tab-${name}`;
    one.setAttribute("aria-selected", on);
    one.tabIndex = on ? 0 : -1;
    if (on) $("panel").setAttribute("aria-labelledby", one.id);
  }
  if (name === "messages") cards.wish = cards.wish ?? (state.slot ?? "now");
  later();
}

function showPanel() {
  const panel = $("panel");
  if (state.tab === "messages") { panel.setAttribute("aria-label", "Messages"); cards.show(); return; }
  panel.removeAttribute("aria-label");
  if (state.tab === "state") panel.replaceChildren(element("pre", "mono", printed(aside.at(state.position).state)));
  else if (state.tab === "runs") showRuns();
  else if (state.tab === "anomalies") {
    const count = below(anomalyPositions, state.position);
    if (count) anomalyLines.show([...Array(count).keys()], state.position ? below(anomalyPositions, state.position - 1) : -1);
    else panel.replaceChildren(element("p", "none-here", data.anomalies.length ? "None up to here." : "None: the log keeps to the protocol."));
  } else if (found.length) foundLines.show(found);
  else panel.replaceChildren(element("p", "none-here", "Nothing found."));
}

// ---- Search -------------------------------------------------------------------------------------------------------

let found = [];
const MOST = 5000;
function search(query) {
  state.query = query;
  found = [];
  $("tab-found").hidden = !query;
  if (!query) { if (state.tab === "found") tab("messages"); later(); return; }
  const low = query.toLowerCase();
  side().slots.forEach((slot, number) => {
    const { message } = slot.at(total);
    if (!message || found.length >= MOST) return;
    let text;
    try { text = JSON.stringify(message); } catch { return; }
    if (`${message.content}\n${text}`.toLowerCase().includes(low)) {
      found.push({ slot: number, text: clipped(`${message.role} ${message.id}  ${typeof message.content === "string" ? message.content : ""}`, 160) });
    }
  });
  for (let position = 0; position < total && found.length < MOST; position += 1) {
    const text = `${typeOf(position)}\n${nameOf(position) ?? ""}\n${textOf(position)}\n${data.texts[position] ?? ""}`;
    if (text.toLowerCase().includes(low)) found.push({ position });
  }
  tab("found");
}

// ---- Rendering ----------------------------------------------------------------------------------------------------

let told = "";
function render() {
  const started = performance.now();
  const position = state.position;
  const shown = side().order.at(position).length;
  $("slider").value = position;
  $("slider").setAttribute("aria-valuetext", position ? `event ${position - 1}, ${typeOf(position - 1)}` : "before the first event");
  $("position").textContent = `${position.toLocaleString("en")} of ${counted(total, "event")}`;
  $("tab-messages").querySelector("b").textContent = shown;
  $("tab-runs").querySelector("b").textContent = aside.at(position).runs.length || "";
  $("tab-anomalies").querySelector("b").textContent = below(anomalyPositions, position) || "";
  $("tab-found").querySelector("b").textContent = found.length >= MOST ? `${MOST}+` : found.length || "";
  showEvent();
  showPanel();
  buildUp();
  draw();
  const says = position ? `Event ${position - 1}, ${typeOf(position - 1)}, ${counted(shown, "message")}` : "Before the first event";
  if (says !== told) $("live").textContent = told = says;
  figures.push(performance.now() - started);
  if (figures.length > 2000) figures.splice(0, 1000);
}
const figures = [];

// ---- Hands --------------------------------------------------------------------------------------------------------

$("slider").max = total;
$("slider").addEventListener("input", (event) => go(Number(event.target.value)));
for (const [id, to] of [["first", () => 0], ["back", () => state.position - 1], ["on", () => state.position + 1], ["last", () => total]]) {
  $(id).addEventListener("click", () => go(to()));
}
$("in").addEventListener("click", () => zoom(1.6));
$("out").addEventListener("click", () => zoom(1 / 1.6));
$("fit").addEventListener("click", () => zoom(0));
$("help").addEventListener("click", () => $("keys").showModal());
for (const input of document.querySelectorAll("[name=layout]")) input.addEventListener("change", () => lay(input.value));
for (const one of document.querySelectorAll("[role=tab]")) one.addEventListener("click", () => tab(one.id.slice(4)));
$("tabs").addEventListener("keydown", (event) => {
  const tabs = [...document.querySelectorAll("[role=tab]:not([hidden])")], at = tabs.indexOf(document.activeElement);
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (at < 0 || next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const one = tabs[(next + tabs.length) % tabs.length];
  tab(one.id.slice(4));
  one.focus();
});
$("panel").addEventListener("scroll", () => { if (state.tab === "messages" && side().order.at(state.position).length) cards.draw(side().order.at(state.position)); }, { passive: true });
scroller.addEventListener("scroll", later, { passive: true });
scroller.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  zoom(Math.exp(-event.deltaY / 300), event.clientX - scroller.getBoundingClientRect().left);
}, { passive: false });
canvas.addEventListener("click", (event) => {
  const row = event.offsetY > RULER ? rowAt(event.offsetX, event.offsetY) : null;
  if (row) chooseEntity(row.entity, row.first, row.last);
  else go(Math.floor(positionAt(event.offsetX)) + 1, { follow: false });
});
canvas.addEventListener("pointermove", (event) => {
  const row = event.offsetY > RULER ? rowAt(event.offsetX, event.offsetY) : null;
  const tip = $("tip");
  tip.hidden = !row;
  if (!row) return;
  const [kind, id] = data.entities[row.entity];
  const lines = [`${KIND_NAMES[kind] ?? kind} ${clipped(id, 80)}${row.ordinal ? `, row ${row.ordinal}` : ""}`, `events ${row.first}–${row.last}, ${clipped(laneNames[row.lane], 60)}`];
  if (callsOf.has(row)) lines.push(`calls ${clipped(callsOf.get(row).map((call) => call.name).join(", "), 120)}`);
  if (row.stated) lines.push("brought whole, by a snapshot or an input");
  if (row.cut !== null) lines.push(`cut at event ${row.cut} by ${typeOf(row.cut)}`);
  tip.textContent = lines.join("\n");
  const box = scroller.getBoundingClientRect(), home = scroller.parentNode.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX - home.left + 14, box.width - tip.offsetWidth - 8))}px`;
  tip.style.top = `${event.clientY - home.top + 18}px`;
});
canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
let typing = 0;
$("query").addEventListener("input", (event) => { clearTimeout(typing); typing = setTimeout(search, 150, event.target.value); });
$("search").addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(typing); search($("query").value); });

function nextMessage(by) {
  const order = side().order.at(state.position);
  const at = order.indexOf(state.slot);
  const next = order[at < 0 ? (by > 0 ? 0 : order.length - 1) : Math.max(0, Math.min(order.length - 1, at + by))];
  if (next === undefined) return;
  tab("messages");
  choose(next);
}

function nextBuilt(by) {
  if (state.slot === null || !built.events) return;
  const at = built.events.filter((position) => (by > 0 ? position >= state.position : position < state.position - 1));
  if (at.length) go((by > 0 ? at[0] : at[at.length - 1]) + 1);
}

function nextAnomaly(by) {
  const number = by > 0 ? below(anomalyPositions, state.position) : below(anomalyPositions, state.position - 1) - 1;
  if (anomalyPositions[number] !== undefined) go(anomalyPositions[number] + 1);
}

const KEYS = {
  ArrowLeft: (event) => go(state.position - (event.shiftKey ? 10 : 1)),
  ArrowRight: (event) => go(state.position + (event.shiftKey ? 10 : 1)),
  PageUp: () => go(state.position - 100), PageDown: () => go(state.position + 100),
  Home: () => go(0), End: () => go(total),
  j: () => nextMessage(1), k: () => nextMessage(-1), n: () => nextBuilt(1), p: () => nextBuilt(-1),
  a: () => nextAnomaly(1), A: () => nextAnomaly(-1),
  l: () => lay(LAYOUTS[1 - LAYOUTS.indexOf(state.layout)]),
  "+": () => zoom(1.6), "=": () => zoom(1.6), "-": () => zoom(1 / 1.6), "0": () => zoom(0),
  "/": () => $("query").focus(), "?": () => $("keys").showModal(),
  Escape: () => { $("query").value = ""; search(""); choose(null); },
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  const target = event.target;
  if (target === $("query")) { if (event.key === "Escape") { target.blur(); KEYS.Escape(); } return; }
  if (target.type === "radio" && event.key.startsWith("Arrow")) return;
  if (target.dataset?.slot !== undefined && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    choose(Number(target.dataset.slot), { scroll: false });
    return;
  }
  // A list that scrolls keeps the keys that scroll it.
  if (["PageUp", "PageDown", "Home", "End"].includes(event.key) && $("panel").parentNode.contains(target)) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(event);
});

new ResizeObserver(() => { resize(); cards.heights.clear(); later(); }).observe(scroller);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); later(); });
readColours();
resize();
$("summary").textContent = [
  counted(total, "event"), counted(rows.length, "row"), counted(bands.reduce((sum, band) => sum + band.lanes.length, 0), "lane"),
  data.anomalies.length ? counted(data.anomalies.length, "anomaly", "anomalies") : "no anomalies",
].join(" · ");
window.trace = { snapshot, go, lay, choose, search, render, figures, state, total };
render();
})();
