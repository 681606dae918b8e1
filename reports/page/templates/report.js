"use strict";
(() => {
const all = (what, where = document) => [...where.querySelectorAll(what)];
const root = document.documentElement;

const make = (tag, attributes, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

const button = (words, action, attributes = {}) => {
  const made = make("button", { type: "button", ...attributes }, words);
  made.addEventListener("click", action);
  return made;
};

/* What is told to people who look, and to those who listen. */
const said = make("output", { class: "said", "aria-live": "polite" });
const say = words => { said.textContent = words; };

const reveal = element => {
  for (let at = element; at; at = at.parentElement) {
    if (at.localName === "details") at.open = true;
    if (at.hidden) at.hidden = false;
  }
};

/* ---- Search and filter: over the rows of all tables and lists of steps ---- */

const search = make("input", { type: "search", id: "search", placeholder: "Search all tables" });
const onlyBad = make("input", { type: "checkbox", id: "only-bad" });
const rows = all("main tbody tr, main ol.steps li[id]");
const told = new Map();
const opened = new Set();

const wordsOf = row => {
  if (!told.has(row)) told.set(row, row.textContent.toLowerCase());
  return told.get(row);
};

const wentWell = row => row.querySelector(".badge") !== null
  && row.querySelector(".badge.bad, .badge.doubt") === null;

const filter = () => {
  const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const isActive = wanted.length > 0 || onlyBad.checked;
  const holds = words => wanted.every(word => words.includes(word));
  for (const details of opened) details.open = false;
  opened.clear();
  document.body.classList.toggle("sought", isActive);
  let shown = 0;
  for (const row of rows) {
    row.hidden = isActive && (!holds(wordsOf(row)) || (onlyBad.checked && wentWell(row)));
    shown += !row.hidden;
  }
  for (const card of all("main .card")) {
    const own = all("tbody tr, ol.steps li[id]", card);
    const isTold = card.classList.contains("story") && holds(card.textContent.toLowerCase());
    card.hidden = isActive && own.every(row => row.hidden) && !isTold;
  }
  for (const section of all("main section")) {
    section.hidden = isActive && all(".card", section).every(card => card.hidden);
  }
  if (wanted.length) for (const row of rows) if (!row.hidden) {
    for (let at = row.closest("details:not([open])"); at; at = at.parentElement.closest("details:not([open])")) {
      opened.add(at);
      at.open = true;
    }
  }
  say(isActive ? `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows` : "");
};

let waiting = 0;
search.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(filter, 120);
});
onlyBad.addEventListener("change", filter);

/* ---- Places: the next fault, the next leader, the first violation ---- */

let here = null;

const visit = element => {
  here?.classList.remove("here");
  here = element;
  reveal(element);
  element.classList.add("here");
  element.setAttribute("tabindex", "-1");
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: "center" });
  say(element.textContent.replace(/\s+/g, " ").trim());
};

const placesOf = kind => all(`g.words[data-kind~="${kind}"], tr[data-kind~="${kind}"]`).filter(one => {
  const picture = one.closest("svg");
  return picture === null || (picture.getClientRects().length > 0 && !isFolded(one));
});

const isFolded = part => part.classList.contains("more");

const next = kind => {
  const places = placesOf(kind);
  const isLater = one => here === null || !here.isConnected
    ? one.getBoundingClientRect().top > innerHeight / 3
    : here.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING;
  const found = places.find(isLater) ?? places[0];
  if (found) visit(found);
};

const firstViolation = () => {
  const story = document.querySelector(".story");
  const proofs = placesOf("proof").filter(one => story === null || story.contains(one));
  const last = proofs.reduce((best, one) => Number(one.dataset.ns) >= Number(best.dataset.ns) ? one : best, proofs[0]);
  if (last) visit(last);
};

/* ---- The look ---- */

const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

const keep = value => {
  try { localStorage.setItem("fencepost-theme", value); } catch { /* a browser may refuse to keep it */ }
};

const theme = button("Dark", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  keep(root.dataset.theme);
  theme.setAttribute("aria-pressed", String(isDark()));
});

try {
  const kept = localStorage.getItem("fencepost-theme");
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
} catch { /* nothing was kept */ }
theme.setAttribute("aria-pressed", String(isDark()));

/* ---- Copying ---- */

const copy = async text => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = make("textarea", { class: "skip" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
};

/* A line breaks between words: half of an option is another option. */
const wholeWords = text => text.split(/( )/).map(part => {
  const word = make("span", {});
  word.textContent = part;
  return part === " " ? part : word;
});

for (const block of all("pre.command, pre.raw")) {
  const text = block.textContent;
  const what = block.matches(".raw") ? "the trace line" : "the command";
  if (!block.matches(".raw")) block.replaceChildren(...wholeWords(text));
  const one = button("Copy", async () => {
    await copy(text);
    one.textContent = "Copied";
    say(`Copied ${what}.`);
    setTimeout(() => { one.textContent = "Copy"; }, 1500);
  }, { class: "copy", "aria-label": `Copy ${what}` });
  block.append(one);
}

/* ---- The space-time picture: room for more events, real time, zoom, and what is below the pointer ---- */

const TOP = 44;
const LANE_TOP = 26;
const LABEL = 17;
const ZOOM_MOST = 256;

const work = view => {
  const picture = view.querySelector("svg.wide");
  const items = all("ol.steps li[id]", view.parentElement);
  const row = Number(picture.dataset.row);
  const words = new Map();
  const marks = new Map();
  for (const part of all("g.words:not(.band)", picture)) words.set(Number(part.dataset.step), part);
  for (const part of all("g.mark", picture)) marks.set(Number(part.dataset.step), part);
  const bands = all("g.band", picture);
  const arrows = all("g.arrow", picture);
  const stretches = all("line[data-from]", picture);
  const count = items.length;
  const texts = items.map(item => item.textContent.replace(/\s+/g, " ").trim());
  const stamps = [...Array(count).keys()].map(step => Number(words.get(step).dataset.ns));
  const main = new Set([...Array(count).keys()].filter(step => !isFolded(words.get(step))));
  const shown = new Set(main);
  const ties = new Map();
  const gaps = new Map();
  let isTime = false;
  let zoom = 1;
  let current = -1;

  /* The heights of the marks and of the words; the last of each is the bottom. */
  const inOrder = () => {
    const heights = [];
    let y = TOP;
    let isAfterGap = false;
    for (let step = 0; step < count; step += 1) {
      if (!shown.has(step)) isAfterGap = true;
      else if (isAfterGap || words.get(step).querySelector(".gap")) {
        y += heights.length && y > TOP ? row * 0.55 : 0;
        isAfterGap = false;
      }
      heights.push(y);
      if (shown.has(step)) y += row * zoom;
    }
    heights.push(y);
    return [heights, heights];
  };

  const roomOf = step => words.get(step).querySelector(".gap") ? LABEL * 1.6 : LABEL;

  const inTime = () => {
    const visible = [...shown].sort((a, b) => a - b);
    const first = stamps[visible[0]];
    const length = Math.max(1, stamps[visible[visible.length - 1]] - first);
    const height = visible.length * row * zoom;
    const heights = stamps.map(stamp => TOP + Math.min(1, Math.max(0, (stamp - first) / length)) * height);
    const labels = [...heights];
    let lowest = 0;
    for (const step of visible) lowest = labels[step] = Math.max(heights[step], lowest + roomOf(step));
    const bottom = Math.max(TOP + height, lowest) + row;
    return [[...heights, bottom], [...labels, bottom]];
  };

  /* A thin line from a mark to words that had to give way. */
  const tie = (step, heights, labels) => {
    const mark = marks.get(step);
    const isNeeded = isTime && mark && shown.has(step);
    if (!isNeeded) { ties.get(step)?.remove(); ties.delete(step); return; }
    if (!ties.has(step)) {
      const line = stretches[0].cloneNode();
      line.removeAttribute("data-from");
      line.setAttribute("class", "tie");
      picture.append(line);
      ties.set(step, line);
    }
    const text = words.get(step).querySelector(".step");
    const lane = mark.querySelector("circle")?.getAttribute("cx") ?? mark.querySelector("path").getAttribute("d").slice(1).split(" ")[0];
    const ends = { x1: lane, y1: heights[step], x2: Number(text.getAttribute("x")) - 5, y2: labels[step] };
    for (const [name, value] of Object.entries(ends)) ties.get(step).setAttribute(name, value);
  };

  const place = () => {
    const [heights, labels] = isTime ? inTime() : inOrder();
    const y = step => step < 0 ? LANE_TOP : heights[step];
    const move = (part, at) => part.setAttribute("transform", `translate(0 ${at.toFixed(1)})`);
    const fold = (part, isShown) => part.classList.toggle("more", !isShown);
    for (const [step, part] of words) {
      move(part, labels[step]);
      if (step < count) fold(part, shown.has(step));
      const gap = part.querySelector(".gap");
      if (gaps.has(gap)) {
        const isTold = hiddenBefore(step).every(other => shown.has(other));
        gap.textContent = isTold ? gaps.get(gap).replace("⋮", "⋮ fold").replace(" more", "") : gaps.get(gap);
        gap.setAttribute("aria-expanded", String(isTold));
      }
      if (step < count) tie(step, heights, labels);
    }
    for (const [step, part] of marks) { move(part, heights[step]); fold(part, shown.has(step)); }
    for (const part of bands) move(part, labels[Number(part.dataset.step)]);
    for (const part of arrows) {
      const [from, to] = [Number(part.dataset.from), Number(part.dataset.to)];
      const line = part.querySelector("line");
      line.setAttribute("y1", y(from));
      line.setAttribute("y2", y(to));
      move(part.querySelector("path"), y(to));
      fold(part, shown.has(from) && shown.has(to));
    }
    for (const line of stretches) {
      line.setAttribute("y1", y(Number(line.dataset.from)));
      line.setAttribute("y2", y(Number(line.dataset.to)));
    }
    const box = picture.viewBox.baseVal;
    picture.setAttribute("viewBox", `0 0 ${box.width} ${(heights[count] + 18).toFixed(1)}`);
    view.classList.toggle("is-long", isTime || zoom > 1);
  };

  const hiddenBefore = step => {
    const found = [];
    for (let other = step - 1; other >= 0 && !main.has(other); other -= 1) found.push(other);
    return found;
  };

  const expand = step => {
    const before = hiddenBefore(step);
    const isShown = before.every(other => shown.has(other));
    for (const other of before) if (isShown) shown.delete(other); else shown.add(other);
    allShown.setAttribute("aria-pressed", String(shown.size === count));
    place();
    say(`${before.length} events ${isShown ? "folded" : "shown"}.`);
  };

  const light = step => {
    for (const part of all(".lit", picture)) part.classList.remove("lit");
    current = step;
    if (step < 0) return;
    words.get(step)?.classList.add("lit");
    marks.get(step)?.classList.add("lit");
    for (const arrow of arrows) if (Number(arrow.dataset.from) === step || Number(arrow.dataset.to) === step) {
      arrow.classList.add("lit");
      for (const end of [arrow.dataset.from, arrow.dataset.to]) marks.get(Number(end))?.classList.add("lit");
    }
    const before = [...shown].filter(other => other < step).sort((a, b) => b - a)[0];
    const since = before === undefined ? "" : `, ${((stamps[step] - stamps[before]) / 1e6).toFixed(3)} ms after the one before`;
    told.textContent = texts[step] + since;
  };

  const setTime = value => {
    isTime = value;
    time.setAttribute("aria-pressed", String(isTime));
    place();
  };

  const setZoom = (value, at = null) => {
    const part = at ?? (current >= 0 ? words.get(current) : null);
    const before = part?.getBoundingClientRect().top;
    zoom = Math.min(ZOOM_MOST, Math.max(1, value));
    place();
    const scroller = view.querySelector(".scroll");
    if (part) scroller.scrollTop += part.getBoundingClientRect().top - before;
    told.textContent = `Zoom ${zoom.toFixed(zoom < 10 ? 1 : 0)}`;
  };

  const told = make("output", { class: "told-here" });
  const time = button("Real time", () => setTime(!isTime), { "aria-pressed": "false" });
  const allShown = button("All events", () => {
    const isShown = shown.size === count;
    for (let step = 0; step < count; step += 1) if (isShown && !main.has(step)) shown.delete(step); else shown.add(step);
    allShown.setAttribute("aria-pressed", String(!isShown));
    place();
  }, { "aria-pressed": "false" });
  const bar = make("div", { class: "tools picture-tools", role: "group", "aria-label": "Picture" },
    time, allShown,
    button("−", () => setZoom(zoom / 2), { "aria-label": "Zoom out" }),
    button("+", () => setZoom(zoom * 2), { "aria-label": "Zoom in" }));
  view.before(bar);
  view.after(told);
  picture.setAttribute("role", "group");
  picture.setAttribute("aria-label", picture.querySelector("title").textContent);

  for (const gap of all(".gap", picture)) {
    const step = Number(gap.parentElement.dataset.step);
    if (hiddenBefore(step).length === 0) continue;
    gaps.set(gap, gap.textContent);
    gap.setAttribute("aria-expanded", "false");
    gap.setAttribute("tabindex", "0");
    gap.setAttribute("role", "button");
    gap.classList.add("opens");
    gap.addEventListener("click", () => expand(step));
    gap.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      expand(step);
    });
  }

  const below = event => {
    const part = event.target.closest?.("g[data-step]");
    return part && Number(part.dataset.step) < count ? Number(part.dataset.step) : -1;
  };
  picture.addEventListener("pointerover", event => light(below(event)));
  picture.addEventListener("wheel", event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    setZoom(zoom * (event.deltaY < 0 ? 1.25 : 0.8), words.get(below(event)));
  }, { passive: false });

  const walk = by => {
    const visible = [...shown].sort((a, b) => a - b);
    const at = visible.indexOf(current);
    light(visible[at < 0 ? (by > 0 ? 0 : visible.length - 1) : Math.min(visible.length - 1, Math.max(0, at + by))]);
    words.get(current).scrollIntoView({ block: "nearest" });
  };
  view.addEventListener("keydown", event => {
    const keys = {
      ArrowDown: () => walk(1),
      ArrowUp: () => walk(-1),
      "+": () => setZoom(zoom * 2),
      "-": () => setZoom(zoom / 2),
      t: () => setTime(!isTime),
      Enter: () => current >= 0 && visit(items[current]),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
};

for (const view of all(".spacetime-view")) work(view);

/* ---- The bar, links to rows, and keys ---- */

const jump = (words, kind, action) => document.querySelector(`[data-kind~="${kind}"]`) === null
  ? [] : [button(words, action)];

const bar = document.querySelector("nav.toc .wrap") ?? document.querySelector("header.top .wrap");
bar.append(make("div", { class: "tools", role: "search" },
  make("label", { for: "search", class: "skip" }, "Search all tables"), search,
  make("label", { for: "only-bad" }, onlyBad, " only what did not pass"),
  ...jump("Next fault", "fault", () => next("fault")),
  ...jump("Next leader change", "leader", () => next("leader")),
  ...jump("First violation", "proof", firstViolation),
  theme, said));

document.addEventListener("keydown", event => {
  const isTyping = event.target.matches?.("input, textarea");
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    search.focus();
  }
  if (event.key === "Escape" && isTyping) {
    search.value = "";
    onlyBad.checked = false;
    filter();
  }
});

const pin = make("a", { class: "pin", "aria-label": "Link to this" }, "#");
document.addEventListener("pointerover", event => {
  const named = event.target.closest?.("tr[id], li[id], article[id]");
  if (!named) return;
  pin.href = `#${named.id}`;
  (named.querySelector("th, h3") ?? named.firstElementChild).append(pin);
});

const follow = () => {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!named) return;
  reveal(named);
  named.scrollIntoView({ block: "center" });
};
addEventListener("hashchange", follow);
follow();
})();
