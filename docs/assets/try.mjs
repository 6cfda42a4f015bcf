// The page docs/try.md: three editors, and what an apply leads to. All values are set as
// text, never as HTML.

const EDITORS = [
  ["last-applied", "Last-applied configuration (blank: the annotation of the live object)"],
  ["live", "Live object"],
  ["manifest", "Manifest"],
];
const EXAMPLES = { live: "examples/live.yaml", manifest: "examples/new.yaml" };
// How long an editor has to be left alone before its text is applied.
const PAUSE = 400;

const place = document.getElementById("smp-try");
const base = new URL(".", document.baseURI);
const assets = new URL(place.dataset.assets, base);

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const editors = {};
const columns = element("div", { class: "smp-editors" });
for (const [name, title] of EDITORS) {
  const area = element("textarea", { id: `smp-${name}`, spellcheck: "false", rows: "18" });
  editors[name] = area;
  columns.append(element("div", {}, element("label", { for: `smp-${name}` }, title), area));
}
const status = element("p", { id: "smp-status", role: "status" }, "Loading the engine (13 MB)");
const outcome = element("div", { id: "smp-outcome" });
place.append(columns, status, outcome);

// A table of rows: where, code, sentence, and what else there is to say.
function table(id, title, rows, last) {
  const section = element("section", { id }, element("h2", {}, title));
  if (rows.length === 0) {
    section.append(element("p", {}, "None."));
    return section;
  }
  const head = element("tr", {});
  for (const name of ["path", "code", "sentence", last]) {
    head.append(element("th", { scope: "col" }, name));
  }
  const body = element("tbody", {});
  for (const row of rows) {
    const line = element("tr", {});
    line.append(
      element("td", {}, element("code", {}, row.path || "(the object)")),
      element("td", {}, element("code", {}, row.code)),
      element("td", {}, row.sentence),
      element("td", {}, row.more),
    );
    body.append(line);
  }
  section.append(element("table", {}, element("thead", {}, head), body));
  return section;
}

function text(id, title, words) {
  const block = element("pre", { tabindex: "0" }, element("code", {}, words));
  return element("section", { id }, element("h2", {}, title), block);
}

function show(answer) {
  outcome.replaceChildren();
  if (answer.error) {
    outcome.append(element("p", { id: "smp-error", role: "alert" }, answer.error));
    return;
  }
  outcome.append(
    table("smp-causes", "Causes", answer.causes, "remedy"),
    table("smp-findings", "Hazards, warnings, violations", answer.findings, "remedy"),
    table("smp-unions", "Unions", answer.unions, "change"),
    text("smp-patch", "Patch", answer.patch),
    text("smp-kubectl-patch", "The patch of kubectl", answer.kubectl_patch),
    text("smp-object", "Result", answer.object),
  );
}

let worker;
let isReady = false;
let sent = 0;

function apply() {
  if (!isReady) return;
  sent += 1;
  status.textContent = "Applying";
  const texts = Object.fromEntries(EDITORS.map(([name]) => [name, editors[name].value]));
  worker.postMessage({ number: sent, ...texts });
}

function heard({ data }) {
  if (data.failed) {
    status.textContent = `The engine cannot run here: ${data.failed}`;
  } else if (data.ready) {
    isReady = true;
    apply();
  } else if (data.number === sent) {
    status.textContent = `Applied in ${Math.round(data.milliseconds)} ms by smp ${data.version}`;
    show(JSON.parse(data.answer));
  }
}

let timer;
for (const area of Object.values(editors)) {
  area.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(apply, PAUSE);
  });
}

try {
  for (const [name, path] of Object.entries(EXAMPLES)) {
    const response = await fetch(new URL(path, base));
    editors[name].value = await response.text();
  }
  worker = new Worker(new URL("try_worker.mjs", import.meta.url), { type: "module" });
  worker.addEventListener("message", heard);
  worker.addEventListener("error", (event) => heard({ data: { failed: event.message } }));
  worker.postMessage({ assets: assets.href });
} catch (error) {
  status.textContent = `The engine cannot run here: ${error.message} (a page that is opened from a folder may load nothing; serve the site)`;
}
