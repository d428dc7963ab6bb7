"use strict";
// The page of `agentcli serve`. Nothing here parses markup: texts become text nodes, and the transcript is built from trees of allowed elements.

const TAGS = new Set("a b blockquote br code del details div em h1 h2 h3 h4 h5 h6 hr img li ol p pre s section span strong summary table tbody td th thead tr ul".split(" "));
const RETRY = [500, 1000, 2000, 5000];
const KEPT = "agentcli-token";
const STATES = { works: "works", waits: "needs your answer", failed: "failed", ended: "ended", stopped: "stopped", done: "done", idle: "idle" };
const ORDER = Object.keys(STATES);
const OVER = ["failed", "ended", "stopped", "done"]; // states of a background session without a process
const FRESH = 400; // milliseconds in which a question that comes into the list takes no answer: it may have moved below a finger
const PENDING = { works: "running", waits: "waiting for you" }; // a call without a result
const ASKS = "The model asks";
const SHOWN = 5000; // milliseconds for which the line about an answered question stays
const FRAME = 120; // milliseconds between two drawings of the reply that arrives
const $ = (id) => document.getElementById(id);

let token = sessionStorage.getItem(KEPT) || "";
let readOnly = false;
let open = null; // the session that is shown
let polling = 0;
const labels = new Map(); // the words of choices, for the line that says which one was taken

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") made.className = value;
    else if (name === "click") made.addEventListener("click", value);
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== "" && child !== null));
  return made;
}

// Elements of the transcript. The server sends only allowed ones; they are checked again, so that nothing else can be made here.
function built(tree) {
  if (typeof tree === "string") return document.createTextNode(tree);
  const [tag, attributes, ...children] = tree;
  if (!TAGS.has(tag)) return document.createTextNode("");
  const made = document.createElement(tag);
  if (typeof attributes.class === "string") made.className = attributes.class;
  if (tag === "ol" && /^\d{1,9}$/.test(attributes.start || "")) made.start = Number(attributes.start);
  if (tag === "a" && /^https?:\/\//.test(attributes.href || "")) {
    made.href = attributes.href;
    made.rel = "noopener noreferrer";
    made.target = "_blank";
  }
  if (tag === "img") {
    made.alt = String(attributes.alt || "");
    if (/^data:image\/(png|jpeg|gif|webp);base64,/.test(attributes.src || "")) made.src = attributes.src;
  }
  made.append(...children.map(built));
  return made;
}

class Refusal extends Error {
  constructor(status, answer) {
    super(answer.error || `The server answers ${status}.`);
    this.status = status;
    this.answer = answer;
  }
}

async function call(path, body, signal) {
  const request = { headers: { authorization: `Bearer ${token}` }, signal, cache: "no-store", credentials: "omit" };
  if (body !== undefined) {
    request.method = "POST";
    request.headers["content-type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  const response = await fetch(path, request);
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401) loggedOut();
  if (!response.ok) throw new Refusal(response.status, answer);
  return answer;
}

function show(view) {
  for (const id of ["login", "list", "session"]) $(id).hidden = id !== view;
  $("back").hidden = view !== "session";
  if (view !== "session") {
    $("title").textContent = view === "login" ? "agentcli" : "Sessions";
    $("facts").textContent = "";
    document.title = "agentcli";
  }
}

function loggedOut() {
  token = "";
  sessionStorage.removeItem(KEPT);
  leave();
  clearTimeout(polling);
  show("login");
}

async function logIn(code) {
  history.replaceState(null, "", location.pathname);
  try {
    const response = await fetch("/api/login", {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }), credentials: "omit",
    });
    const answer = await response.json();
    if (!response.ok) {
      $("login-error").textContent = response.status === 401 ? "This link was used, or is older than 5 minutes." : answer.error;
      return false;
    }
    token = answer.token;
    sessionStorage.setItem(KEPT, token);
    return true;
  } catch {
    $("login-error").textContent = "The server does not answer.";
    return false;
  }
}

// The list of sessions.

async function list() {
  clearTimeout(polling);
  try {
    const found = await call("/api/sessions");
    if (open || $("list").hidden) return;
    $("connection").textContent = "";
    readOnly = found.read_only;
    const hashes = new Set(found.running.flatMap((each) => each.questions.map((question) => question.hash)));
    for (const hash of listed.keys()) if (!hashes.has(hash)) listed.delete(hash);
    if (!typing()) rows($("running"), found.running, "No session is running.");
    rows($("stored"), found.stored, "No session is stored.");
    $("new").hidden = readOnly || !found.folders.length;
    offered($("folder"), found.folders.map((each) => [each, each]));
    offered($("model"), [["", "As configured"], ...found.models.map((each) => [each, shortModel(each)])]);
    $("notify").hidden = !canAsk();
    for (const each of found.running) if (each.state === "waits") notify(each.name || each.title, each.session);
    const waiting = found.running.filter((each) => each.state === "waits").length;
    document.title = waiting ? `(${waiting}) needs your answer · agentcli` : "agentcli";
  } catch (error) {
    if (!token) return;
    $("connection").textContent = error instanceof Refusal ? error.message : "No connection. Trying again.";
  }
  if (!open && token) polling = setTimeout(list, document.hidden ? 20000 : 3000);
}

// The choices of a field, without losing the one that is made.
function offered(field, choices) {
  const chosen = field.value;
  field.replaceChildren(...choices.map(([value, words]) => element("option", { value }, words)));
  if (choices.some(([value]) => value === chosen)) field.value = chosen;
}

const listed = new Map(); // the questions of the list by their hash, with what was typed

// True while somebody types into a question of the list that is still open: then the list stays as it is.
function typing() {
  const field = document.activeElement;
  return field !== null && field.tagName === "INPUT" && [...listed.values()].some((place) => place.contains(field));
}

function rows(place, sessions, none) {
  const active = document.activeElement;
  const held = active && place.contains(active) ? active.closest("li").dataset.session : "";
  const sorted = [...sessions].sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state) || (one.updated < other.updated ? 1 : -1));
  const made = sorted.map((each) => {
    const cost = each.cost === null ? "" : `$${each.cost.toFixed(2)}`;
    const state = each.state === "ended" && !each.background ? "" : element("span", { class: `state ${each.state}` }, STATES[each.state] + (each.shared || each.background ? "" : "?"));
    return element("li", { "data-session": each.session }, element("a", { href: `#s=${encodeURIComponent(each.session)}` },
      state, each.name || each.title || each.session,
      element("span", { class: "note" }, [ago(each.updated), each.says || each.last].filter(Boolean).join(" · ")),
      element("span", { class: "note", title: each.folder }, [each.worktree || lastPart(each.folder), each.changes, cost].filter(Boolean).join(" · "))), ...below(each));
  });
  place.replaceChildren(...(made.length ? made : [element("li", { class: "note" }, none)]));
  if (!held) return;
  if (active.isConnected) active.focus({ preventScroll: true });
  else for (const row of place.children) if (row.dataset.session === held) row.firstChild.focus({ preventScroll: true });
}

// What stands below a session of the list: its questions, or what can be done with its work. Elements that are there stay, with what was typed and unfolded.
function below(each) {
  const questions = (each.questions || []).map((question) => {
    const found = listed.get(question.hash);
    if (found) return found;
    const place = asking({ id: each.session }, question, `l${question.hash}`);
    const buttons = [...place.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    setTimeout(() => { for (const button of buttons) button.disabled = false; }, FRESH);
    listed.set(question.hash, place);
    return place;
  });
  if (!each.background || !OVER.includes(each.state) || (readOnly && !each.worktree)) return questions;
  const found = $(`w${each.session}`);
  const of = `${each.state} ${each.changes} ${each.worktree}`;
  return [found && found.dataset.of === of ? found : work(each, of)];
}

// The keys of `agentcli agents` for a background session that has ended: its changes, merge and discard.
function work(each, of) {
  const changes = element("div", { class: "changes" });
  const note = element("p", { role: "alert" });
  const act = async (what) => {
    note.textContent = "";
    try {
      $("said").textContent = (await call(path({ id: each.session }, `/${what}`), {})).said;
      list();
    } catch (error) {
      note.textContent = error.message;
    }
  };
  const shown = async () => {
    note.textContent = "";
    try {
      const found = changes.childElementCount ? null : await call(path({ id: each.session }, "/changes"));
      const more = found && found.lines_left_out ? element("p", { class: "note" }, `${found.lines_left_out} more lines are not shown.`) : "";
      changes.replaceChildren(...(found ? [...found.open.map(built), found.open.length ? more : element("p", { class: "note" }, "No changes.")] : []).filter(Boolean));
      toggle.setAttribute("aria-expanded", String(Boolean(found)));
    } catch (error) {
      note.textContent = error.message;
    }
  };
  // A discard loses work: its button asks first, and forgets the question when the focus leaves it.
  const asks = `Discard ${[each.worktree, each.changes].filter(Boolean).join(", ")}?`;
  const name = each.worktree ? "Discard" : "Remove from the list";
  const gone = element("button", { type: "button", click: () => {
    if (!each.worktree || !each.changes || gone.textContent === asks) act("discard");
    else gone.textContent = asks;
  } }, name);
  gone.addEventListener("blur", () => { gone.textContent = name; });
  const toggle = element("button", { type: "button", "aria-expanded": "false", click: shown }, "Changes");
  const buttons = readOnly ? [toggle] : each.worktree ? [toggle, element("button", { type: "button", click: () => act("merge") }, "Merge"), gone] : [gone];
  return element("div", { id: `w${each.session}`, "data-of": of, class: "work", role: "group", "aria-label": `Work of ${each.name || each.title || each.session}` },
    element("div", { class: "row" }, ...buttons), note, changes);
}

const lastPart = (path) => path.split("/").filter(Boolean).pop() || path;
const shortModel = (model) => model.split("/").slice(1).join("/").split("/").pop() || model;

function ago(time) {
  const minutes = Math.floor((Date.now() - Date.parse(time)) / 60000);
  if (!time || Number.isNaN(minutes)) return "";
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${Math.floor(minutes / 1440)} days ago`;
}

// A notification of a question, once for each, while nobody looks at the page.
const noticed = new Set();
const canAsk = () => isSecureContext && "Notification" in window && Notification.permission === "default";

function notify(title, key) {
  if (!document.hidden || noticed.has(key)) return;
  noticed.add(key);
  if (navigator.vibrate) navigator.vibrate(200);
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  try {
    new Notification("agentcli needs your answer", { body: title, tag: key });
  } catch {
    // Some phones show notifications only for installed pages.
  }
}

async function start() {
  $("start").disabled = true;
  $("start-error").textContent = "";
  try {
    const answer = await call("/api/sessions", { folder: $("folder").value, text: $("first").value, mode: $("mode").value, model: $("model").value });
    $("first").value = "";
    location.hash = `s=${answer.session}`;
  } catch (error) {
    $("start-error").textContent = error.message;
  }
  $("start").disabled = false;
}

// One session: the transcript as drawn by the server, the reply that arrives, the open questions.

function leave() {
  if (open) open.stop.abort();
  open = null;
}

async function enter(id) {
  leave();
  clearTimeout(polling);
  const session = { id, stop: new AbortController(), cursor: "", records: 0, first: 0, text: "", thought: "", closed: 0, reply: 0, writing: false, facts: {}, asked: new Map(), answered: new Set(), drawing: null, again: false };
  open = session;
  show("session");
  for (const place of listed.values()) place.remove(); // each question is on the page once
  $("title").textContent = "Session";
  for (const each of ["transcript", "live", "questions"]) $(each).replaceChildren();
  $("problem").textContent = $("notice").textContent = $("connection").textContent = "";
  for (let failed = 0; open === session; ) {
    try {
      await reload(session);
      failed = 0;
      $("connection").textContent = "";
      await follow(session);
    } catch (error) {
      if (open !== session) return;
      if (error instanceof Refusal && error.status === 400) {
        $("problem").textContent = error.message;
        return;
      }
      $("connection").textContent = error instanceof Refusal ? error.message : "No connection. Trying again.";
      await new Promise((done) => setTimeout(done, RETRY[Math.min(failed++, RETRY.length - 1)]));
    }
  }
}

const path = (session, rest) => `/api/sessions/${encodeURIComponent(session.id)}${rest}`;

// Read the whole newest part again: at first, after a reload event, and after a lost connection whose events are gone.
async function reload(session) {
  if (session.cursor) return; // a connection was lost: continue after the newest event
  const found = await call(path(session, "/transcript"), undefined, session.stop.signal);
  if (open !== session) return;
  readOnly = found.read_only;
  const bottom = atBottom();
  $("transcript").replaceChildren();
  draw(session, found);
  session.first = found.first;
  $("earlier").hidden = found.first <= 1;
  session.cursor = found.state.cursor;
  forget(session);
  session.text = found.state.partial.text;
  session.thought = found.state.partial.thinking;
  live(session);
  facts(session, found.state);
  $("questions").replaceChildren();
  session.asked.clear();
  for (const each of found.state.questions) ask(session, each);
  if (bottom) down();
}

function draw(session, found) {
  const place = $("transcript");
  for (const group of found.groups) {
    const made = element("div", { "data-seq": group.seq }, ...group.tree.map(built));
    const old = place.querySelector(`[data-seq="${Number(group.seq)}"]`);
    if (old) {
      const unfolded = [...old.querySelectorAll("details")].map((each) => each.open);
      [...made.querySelectorAll("details")].forEach((each, number) => { each.open = unfolded[number] || false; });
      old.replaceWith(made);
    } else {
      const next = [...place.children].find((each) => Number(each.dataset.seq) > group.seq);
      place.insertBefore(made, next || null);
    }
  }
  session.records = Math.max(session.records, found.until);
  statuses(session);
}

// The class of a call's place in the transcript.
const placeOf = (id) => `call-${String(id).replace(/[^\w-]/g, "-")}`;

// Say of each call without a result what it waits for, and name files from the session's folder on.
function statuses(session) {
  const folder = `${session.facts.folder || ""}/`;
  for (const each of $("transcript").querySelectorAll("summary > code")) {
    if (each.textContent.startsWith(folder)) each.textContent = each.textContent.slice(folder.length);
  }
  const asked = new Set([...session.asked.values()].map(placeOf));
  for (const each of $("transcript").querySelectorAll("span.unanswered")) {
    const place = [...each.classList].find((name) => name.startsWith("call-"));
    const waits = session.facts.state === "waits" && asked.size && !asked.has(place);
    each.textContent = waits ? (session.answered.has(place) ? "answered" : "not started") : PENDING[session.facts.state] || "no result";
  }
}

// Draw what is new on record. Requests do not overlap; one more follows if something came meanwhile.
async function refresh(session) {
  if (session.drawing) {
    session.again = true;
    return session.drawing;
  }
  session.drawing = (async () => {
    do {
      session.again = false;
      const found = await call(path(session, `/transcript?after=${session.records}`), undefined, session.stop.signal);
      if (open !== session) return;
      if (found.reload) {
        session.cursor = "";
        session.records = 0;
        await reload(session);
        return;
      }
      const bottom = atBottom();
      draw(session, found);
      facts(session, { name: found.state.name, cost: found.state.cost });
      if (session.settled) {
        session.settled = false;
        live(session);
      }
      if (bottom) down();
    } while (session.again);
  })();
  try {
    await session.drawing;
  } catch (error) {
    if (open === session && !(error instanceof DOMException)) $("connection").textContent = error.message;
  } finally {
    session.drawing = null;
  }
}

async function earlier() {
  const session = open;
  const found = await call(path(session, `/transcript?before=${session.first}`), undefined, session.stop.signal);
  if (open !== session) return;
  const height = document.documentElement.scrollHeight;
  draw(session, found);
  session.first = found.first;
  $("earlier").hidden = found.first <= 1;
  scrollBy(0, document.documentElement.scrollHeight - height);
}

async function follow(session) {
  const headers = { authorization: `Bearer ${token}`, "last-event-id": session.cursor };
  const response = await fetch(path(session, "/events"), { headers, signal: session.stop.signal, cache: "no-store", credentials: "omit" });
  if (response.status === 401) loggedOut();
  if (!response.ok) throw new Refusal(response.status, {});
  $("connection").textContent = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error("closed");
    rest += value;
    const whole = rest.split("\n\n");
    rest = whole.pop();
    for (const each of whole) {
      const item = { id: "", data: "" };
      for (const line of each.split("\n")) {
        if (line.startsWith("id: ")) item.id = line.slice(4);
        if (line.startsWith("data: ")) item.data = line.slice(6);
      }
      if (!item.data) continue;
      if (!hear(session, JSON.parse(item.data))) {
        reader.cancel();
        return;
      }
      session.cursor = item.id;
    }
    live(session);
  }
}

// Take an event; false if the transcript has to be read again.
function hear(session, event) {
  switch (event.type) {
    case "message":
      if (event.delta) session.text += event.text;
      else {
        if (event.role === "assistant") forget(session);
        session.settled = true;
        refresh(session);
      }
      return true;
    case "thinking":
      if (event.delta) session.thought += event.text;
      return true;
    case "restarted":
      forget(session);
      return true;
    case "tool_call":
    case "tool_result":
      refresh(session);
      return true;
    case "record":
      refresh(session);
      return true;
    case "question":
      ask(session, event);
      return true;
    case "answered":
      answered(session, event);
      return true;
    case "state":
      facts(session, event);
      return true;
    case "warning":
      $("notice").textContent = event.message;
      return true;
    case "moved":
      location.hash = `s=${event.session}`;
      return false;
    case "ended":
      facts(session, { state: "ended" });
      $("questions").replaceChildren();
      session.cursor = "";
      return false;
    case "reload":
      session.cursor = "";
      return false;
    default:
      return true;
  }
}

// Nothing of a reply is left: its message is in the transcript, or it is sent again.
function forget(session) {
  session.text = session.thought = "";
  session.closed = 0; // lines of it that are drawn for good
  session.reply += 1;
}

function live(session) {
  const bottom = atBottom();
  const place = $("live");
  if (place.dataset.reply !== String(session.reply)) {
    place.dataset.reply = session.reply;
    place.replaceChildren(element("div", { class: "thought" }), element("div", { class: "words" }), element("div", { class: "words" }));
  }
  place.firstChild.textContent = session.text ? "" : session.thought;
  if (session.text) write(session);
  if (bottom) down();
}

// Draw the reply as it arrives: the server draws what has come since the last finished block.
async function write(session) {
  if (session.writing) return;
  session.writing = true;
  const [, closed, growing] = $("live").children;
  const reply = session.reply;
  for (let seen = ""; open === session && session.reply === reply && seen !== session.text; ) {
    seen = session.text;
    const rest = seen.split("\n").slice(session.closed).join("\n");
    const found = await call("/api/drawn", { text: rest }, session.stop.signal).catch(() => null);
    if (open !== session || session.reply !== reply) break;
    const bottom = atBottom();
    if (found) {
      closed.append(...found.closed.map(built));
      growing.replaceChildren(...found.open.map(built));
      session.closed += found.lines;
    } else growing.replaceChildren(element("div", { class: "plain" }, rest));
    if (bottom) down();
    await new Promise((done) => setTimeout(done, FRAME));
  }
  session.writing = false;
  if (open === session && session.reply !== reply && session.text) live(session);
}

function facts(session, state) {
  session.facts = { ...session.facts, ...state };
  const known = session.facts;
  $("title").textContent = known.name || "New session";
  document.title = `${STATES[known.state]} · ${$("title").textContent}`;
  const cost = typeof known.cost === "number" ? `$${known.cost.toFixed(2)}` : "";
  const words = [known.doing, shortModel(known.model || ""), known.mode, cost, lastPart(known.folder || "")].filter(Boolean).join(" · ");
  $("facts").replaceChildren(element("span", { class: `state ${known.state}` }, STATES[known.state]), ` ${words}`);
  $("facts").title = [known.model, known.folder].filter(Boolean).join(" · ");
  const may = !readOnly && (known.shared || known.state === "ended");
  $("steer").hidden = !may;
  $("stop").hidden = known.state !== "works" && known.state !== "waits";
  statuses(session);
}

const atBottom = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
const down = () => scrollTo(0, document.documentElement.scrollHeight);

function preview(kind, text, path) {
  const place = element("pre", { tabindex: "0", "aria-label": kind === "diff" ? "Change" : "Whole call" }, kind === "command" ? `$ ${text}` : text);
  if (kind === "diff") {
    call("/api/drawn", { diff: text, path: path || "" }).then((found) => {
      const diff = found.open.map(built)[0];
      for (const name of ["tabindex", "aria-label"]) diff.setAttribute(name, place.getAttribute(name));
      place.replaceWith(diff);
    }).catch(() => {});
  }
  return place;
}

function ask(session, question) {
  const id = `q${question.hash}`;
  if (question.call_id) session.asked.set(question.hash, question.call_id);
  statuses(session);
  if (document.getElementById(id)) return;
  const place = asking(session, question, id);
  const heading = place.querySelector("h2");
  const bottom = atBottom();
  $("questions").append(place);
  if (bottom) down();
  if (document.activeElement === document.body) heading.focus({ preventScroll: true });
  notify(heading.textContent, id);
}

// A question with its choices.
function asking(session, question, id) {
  const heading = element("h2", { tabindex: "-1", id: `${id}-title` }, question.kind === "questions" ? ASKS : question.title);
  const place = element("section", { class: `question${question.careful ? " careful" : ""}`, id, role: "group", "aria-labelledby": `${id}-title` }, heading);
  const note = element("p", { role: "alert" });
  if (question.kind === "questions") askModel(session, question, place, note);
  else askCall(session, question, place, note);
  place.append(note);
  return place;
}

function askCall(session, question, place, note) {
  const known = question.kind === "command" || question.title.startsWith(question.subject);
  for (const text of [question.description, question.why, known ? "" : question.subject]) {
    if (text) place.append(element("p", { class: "note" }, text));
  }
  place.append(preview(question.kind, question.preview, question.subject));
  for (const other of question.others) {
    place.append(element("p", {}, other.kind === "command" ? "Also in this reply:" : `Also in this reply: ${other.title}`), preview(other.kind, other.preview, other.title));
  }
  const saves = question.choices.some((each) => ["prefix", "boxed", "everywhere", "always"].includes(each.choice));
  if (question.unsaved && !saves) place.append(element("p", { class: "note" }, `No rule can be saved for it: ${question.unsaved}.`));
  for (const each of question.choices) labels.set(`${question.hash} ${each.choice}`, each.label);
  if (readOnly) return;
  const reason = element("input", { type: "text", id: `r${place.id}`, autocomplete: "off" });
  const choices = element("div", { class: "choices" });
  for (const each of question.choices) {
    choices.append(element("button", { type: "button", click: () => give(session, question, place, note, { choice: each.choice, reason: reason.value }) }, each.label));
  }
  place.append(choices, element("label", { for: reason.id }, "What should it do instead? (optional)"), reason);
}

function askModel(session, question, place, note) {
  const fields = question.questions.map((asked, number) => {
    const field = element("input", { type: "text", id: `a${number}-${place.id}`, autocomplete: "off", placeholder: asked.choices.length ? "Another answer" : "" });
    const choices = element("div", { class: "choices" });
    for (const each of asked.choices) {
      const choose = () => { field.value = asked.multiple && field.value ? `${field.value}, ${each.label}` : each.label; };
      if (!readOnly) choices.append(element("button", { type: "button", click: choose }, each.description ? `${each.label}: ${each.description}` : each.label));
    }
    place.append(element("label", { for: field.id }, asked.question), choices, field);
    field.disabled = readOnly;
    return field;
  });
  if (readOnly) return;
  const send = () => give(session, question, place, note, { answers: fields.map((each) => each.value) });
  place.append(element("div", { class: "row" }, element("button", { type: "button", click: send }, "Send the answers")));
}

async function give(session, question, place, note, answer) {
  for (const each of place.querySelectorAll("button")) each.disabled = true;
  note.textContent = "";
  try {
    await call(path(session, "/answer"), { hash: question.hash, ...answer });
    if (!open) list();
  } catch (error) {
    note.textContent = error.message;
    if (!(error instanceof Refusal && error.status === 409)) for (const each of place.querySelectorAll("button")) each.disabled = false;
  }
}

// A question that was answered leaves its place to a line that says by whom.
function answered(session, event) {
  session.answered.add(placeOf(session.asked.get(event.hash)));
  session.asked.delete(event.hash);
  statuses(session);
  const place = document.getElementById(`q${event.hash}`);
  if (!place) return;
  const title = place.querySelector("h2").textContent;
  const heading = title === ASKS ? "The model's question:" : title;
  const choice = labels.get(`${event.hash} ${event.choice}`) || "";
  place.className = "question answered";
  place.removeAttribute("id");
  place.replaceChildren(element("p", { role: "status" }, `${heading} answered by ${event.by}${choice ? `: ${choice}` : ""}.`));
  setTimeout(() => place.remove(), SHOWN);
}

async function say() {
  const session = open;
  const text = $("text").value;
  if (!text.trim()) return;
  $("send").disabled = true;
  $("problem").textContent = "";
  try {
    await call(path(session, "/say"), { text });
    $("text").value = "";
  } catch (error) {
    $("problem").textContent = error.message;
  }
  $("send").disabled = false;
}

async function stop() {
  try {
    await call(path(open, "/stop"), {});
  } catch (error) {
    $("problem").textContent = error.message;
  }
}

async function route() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.has("login") && !(await logIn(given.get("login")))) return show("login");
  if (!token) return show("login");
  if (given.get("s")) return enter(given.get("s"));
  leave();
  show("list");
  return list();
}

addEventListener("hashchange", route);
document.addEventListener("visibilitychange", () => { if (!document.hidden && !open && token) list(); });
$("start").addEventListener("click", start);
$("notify").addEventListener("click", () => Notification.requestPermission().then(() => { $("notify").hidden = !canAsk(); }));
$("earlier").addEventListener("click", earlier);
$("send").addEventListener("click", say);
$("stop").addEventListener("click", stop);
$("text").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) say(); });
route();
