// The live part of the page: one stream, parts that are morphed, one canvas for the map, one dialog.
"use strict";
(() => {
  const STALE_MS = 3000; // the stream has a line every two seconds
  const REFRESH_MS = 1000; // parts of the page, at most this often
  const IDLE_MS = 3600000; // the stream says what changed, and the page when a date passes
  const AGES_MS = 5000; // ages are counted on here
  const UNDO_MS = 60000;
  const $ = (selector, from = document) => from.querySelector(selector);
  const body = document.body;
  document.documentElement.classList.add("scripted");
  let morph = null;
  htmx.registerExtension("tidegate", { init: (api) => { morph = api.morph; } });

  // ---- Age of what is shown -------------------------------------------------------------------
  const live = $("#live"), said = live && $(".said", live);
  const past = body.dataset.then; // the word for it, where the past is shown: nothing changes there
  // A moment by its age would be another one for the map, which is read next.
  if (past && new URLSearchParams(location.search).get("at") !== body.dataset.moment) {
    const kept = new URL(location.href);
    kept.searchParams.set("at", body.dataset.moment);
    history.replaceState(null, "", kept);
  }
  let asOf = body.dataset.at ? body.dataset.at.slice(11, 16) : "", fresh = false;
  let heard = 0, attempt = 0, stop = null, over = false, broken = false, retry = 0;
  function show(state, text) {
    if (!live) return;
    if (live.dataset.state !== state) live.dataset.state = state;
    if (said.textContent !== text) said.textContent = text;
    const off = state !== "live";
    if (off !== body.classList.contains("stale")) body.classList.toggle("stale", off);
    for (const each of document.querySelectorAll("[data-act]")) setOff(each, off);
  }
  function setOff(each, off) {
    each.classList.toggle("off", off);
    if (each.tagName === "BUTTON") { each.disabled = off; return; }
    if (off) each.setAttribute("aria-disabled", "true"); else each.removeAttribute("aria-disabled");
  }
  function stale() { fresh = false; show("stale", `as of ${asOf} UTC, ${body.dataset.reconnecting}`); }
  // The stream is alive, but what is shown is live only if it could be read, too.
  function alive() {
    if (broken || over) return;
    asOf = new Date().toISOString().slice(11, 16);
    fresh = true;
    show("live", body.dataset.live);
  }
  function end() {
    over = true;
    fresh = false;
    const open = stop;
    stop = null;
    open?.abort();
    clearTimeout(retry);
    show("stale", body.dataset.over);
  }

  // ---- The stream -----------------------------------------------------------------------------
  const changed = new Set();
  let reset = false;
  async function listen() {
    clearTimeout(retry);
    if (over || past || document.hidden || !live) return;
    const control = new AbortController();
    stop = control;
    try {
      const answer = await fetch("/api/v1/changes", { signal: control.signal, headers: { Accept: "text/event-stream" } });
      if (answer.status === 401 || answer.status === 403) { end(); return; }
      if (!answer.ok) throw new Error(String(answer.status));
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        heard = performance.now();
        attempt = 0;
        alive();
        rest += value;
        const parts = rest.split("\n\n");
        rest = parts.pop();
        parts.forEach(take);
      }
    } catch (error) {
      if (control.signal.aborted && document.hidden) return;
    }
    if (stop === control) { stop = null; again(); }
  }
  function again() {
    stale();
    attempt += 1;
    const most = Math.min(30000, 500 * 2 ** Math.min(attempt, 6));
    retry = setTimeout(listen, most * (0.5 + Math.random() / 2));
  }
  function take(event) {
    const kind = /^event: (.*)$/m.exec(event)?.[1], data = /^data: (.*)$/m.exec(event)?.[1];
    if (kind === "reset") reset = true;
    else if (kind === "changed") changed.add(JSON.parse(data).rollout);
    else return;
    soon();
  }
  setInterval(() => {
    if (document.hidden || over || past || !live) return;
    if (stop && heard && performance.now() - heard > STALE_MS) { const dead = stop; stop = null; dead.abort(); again(); }
  }, 500);
  document.addEventListener("visibilitychange", () => {
    if (past) return;
    if (document.hidden) { clearTimeout(retry); const open = stop; stop = null; open?.abort(); show("still", `as of ${asOf} UTC`); }
    else { attempt = 0; heard = performance.now(); listen(); }
  });

  // ---- Parts of the page ----------------------------------------------------------------------
  let waiting = 0, last = 0, busy = false;
  function soon() {
    if (waiting || document.hidden || over || past) return;
    waiting = setTimeout(run, Math.max(0, last + REFRESH_MS - performance.now()));
  }
  async function run() {
    waiting = 0;
    if (document.hidden) return; // the stream begins anew with all of it
    if (busy) return soon();
    busy = true;
    last = performance.now();
    const names = [...changed], all = reset;
    changed.clear();
    reset = false;
    try {
      await Promise.all([map ? map.load(all ? null : names) : null, refresh()]);
      if (broken) { broken = false; if (!document.hidden) alive(); }
    } catch (error) {
      broken = reset = true;
      last = performance.now() + REFRESH_MS; // an ill service is asked less often
      if (!over) stale();
    }
    busy = false;
    if (!over && (changed.size || reset)) soon();
  }
  // ---- Time alone: ages are counted on, and a date that passes is a reason to read again -----------
  let shownAt = Date.parse(body.dataset.at || ""), readAt = performance.now();
  const moment = () => shownAt + performance.now() - readAt;
  function age(span) {
    let left = Math.floor(Math.max(0, span) / 1000);
    const parts = [];
    for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]]) {
      const count = Math.floor(left / size);
      left %= size;
      if (count) parts.push(`${count}${unit}`);
      else if (parts.length) break;
    }
    return parts.slice(0, 2).join("") || "0s";
  }
  function tick() {
    if (!fresh || document.hidden || past) return;
    const now = moment(), next = Date.parse($("#next")?.dateTime || "");
    if (next <= now && last < readAt + next - shownAt + REFRESH_MS || performance.now() - last > IDLE_MS) soon();
    if ($("#simulated")) return; // its time is not ours
    for (const each of document.querySelectorAll("time[data-age]")) {
      const span = now - Date.parse(each.dateTime), text = span >= 0 ? `${age(span)} ago` : `in ${age(-span)}`;
      if (each.textContent !== text) each.textContent = text;
    }
  }
  setInterval(tick, AGES_MS);
  async function refresh() {
    if (!$("[data-refresh]")) return;
    const asked = location.href;
    const answer = await fetch(asked, { headers: { Accept: "text/html" } });
    if (answer.redirected) return end(); // to the login
    if (!answer.ok) throw new Error(String(answer.status));
    const text = await answer.text();
    if (location.href !== asked) return soon(); // of a view that was left meanwhile
    const next = new DOMParser().parseFromString(text, "text/html");
    for (const part of document.querySelectorAll("[data-refresh]")) {
      const found = next.getElementById(part.id);
      if (!found || found.isEqualNode(part)) continue;
      const fragment = document.createDocumentFragment();
      fragment.append(...document.importNode(found, true).childNodes);
      morph(part, fragment, true);
    }
    shownAt = Date.parse(next.body.dataset.at || "");
    readAt = performance.now();
    if (document.title !== next.title) document.title = next.title;
    body.classList.toggle("alarm", Number($('[data-look="failed"] b')?.textContent || 0) > 0);
    show(live.dataset.state, said.textContent);
  }

  // ---- Links that open a part: the act sheet, and why -------------------------------------------
  const sheet = $("#sheet"), panel = $("#panel");
  let opener = null;
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a, button");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    if (link.getAttribute("aria-disabled") === "true") { event.preventDefault(); return; }
    if (link.dataset.copy) { copy(link); return; }
    if (link.tagName !== "A") return;
    if ("act" in link.dataset) { event.preventDefault(); opener = link; await openSheet(link.href); }
    else if ("cancel" in link.dataset && sheet.open) { event.preventDefault(); sheet.close(); }
    else if ("why" in link.dataset && panel) { event.preventDefault(); openWhy(link.getAttribute("href"), true); }
    else if ("close" in link.dataset && panel?.contains(link)) { event.preventDefault(); closeWhy(); }
  });
  async function copy(button) {
    await navigator.clipboard?.writeText($(button.dataset.copy).textContent);
    const before = button.textContent;
    button.textContent = body.dataset.copied;
    setTimeout(() => { button.textContent = before; }, 1500);
  }
  async function part(url, options = {}) {
    const answer = await fetch(url, { ...options, headers: { ...options.headers, "HX-Request": "true" } });
    return answer.text();
  }
  async function openSheet(url) {
    put(sheet, await part(url));
    if (!sheet.open) sheet.showModal();
    ($("#reason", sheet) || $("#sheet-title", sheet))?.focus();
  }
  function put(where, text) {
    const fragment = document.createRange().createContextualFragment(text);
    where.replaceChildren(fragment);
    if (live) show(live.dataset.state, said.textContent);
  }
  sheet?.addEventListener("close", () => { sheet.replaceChildren(); opener?.isConnected && opener.focus(); reset = true; soon(); });
  sheet?.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    event.preventDefault();
    const fields = new URLSearchParams(new FormData(form, event.submitter));
    const button = $("button.primary", form);
    if (button) button.disabled = true;
    const text = await part(form.getAttribute("action"), { method: "POST", body: fields });
    put(sheet, text);
    $("[role=alert]", sheet) ? $("#reason", sheet)?.focus() : $("#sheet-title", sheet)?.focus();
    const undo = $("[data-undo]", sheet);
    if (undo) { offerUndo(undo); reset = true; soon(); }
  });
  let looking = 0;
  sheet?.addEventListener("change", (event) => {
    if (event.target.name === "reason" || !$("#act", sheet)) return;
    clearTimeout(looking);
    looking = setTimeout(look, 50);
  });
  sheet?.addEventListener("input", (event) => {
    if (event.target.name !== "reason") return;
    clearTimeout(looking);
    looking = setTimeout(look, 400);
  });
  async function look() {
    const form = $("#act", sheet);
    if (!form) return;
    const fields = new URLSearchParams(new FormData(form));
    fields.set("look", "1");
    const text = await part(form.getAttribute("action"), { method: "POST", body: fields });
    const next = new DOMParser().parseFromString(text, "text/html");
    for (const id of ["reach", "act-command"]) {
      const found = next.getElementById(id);
      if (found && $(`#${id}`, sheet)) $(`#${id}`, sheet).replaceChildren(...found.childNodes);
    }
    const tag = next.querySelector("[name=tag]");
    if (tag && $("[name=tag]", form)) $("[name=tag]", form).value = tag.value;
  }
  // After the sheet is closed, undo stays at hand for a minute.
  function offerUndo(undo) {
    $("#undo")?.remove();
    const kept = document.createElement("p");
    kept.id = "undo";
    kept.className = "banner";
    kept.append(...[...$("#done", sheet).querySelectorAll(":scope > p:not(.acts)")].map((each) => { const line = document.createElement("span"); line.textContent = each.textContent; return line; }), undo.cloneNode(true));
    $("#top").append(kept);
    setTimeout(() => kept.remove(), UNDO_MS);
  }
  // Why comes first: dates take the rules some tenths of a second, and are put in when they are there.
  // The last click is the one that is answered, in whatever order answers arrive.
  let asking = 0;
  async function openWhy(url, focus) {
    const mine = ++asking, found = await part(`${url}&dates=later`);
    if (mine !== asking) return;
    put(panel, found);
    const shown = $(".why", panel);
    if (focus) $("#why-title", panel)?.focus();
    keep({ rollout: shown?.dataset.rollout || "", target: shown?.dataset.target || "" });
    if (!shown || !("later" in shown.dataset)) return;
    const text = await part(url);
    if (mine === asking) morph(panel, document.createRange().createContextualFragment(text), true);
  }
  function closeWhy() { asking += 1; panel.replaceChildren(); keep({ rollout: "", target: "" }); (map ? map.canvas : $("#main")).focus(); }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && panel?.hasChildNodes() && !sheet.open) closeWhy(); });
  function keep(values) {
    if (location.pathname !== "/") return;
    const url = new URL(location.href);
    for (const [name, value] of Object.entries(values)) value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
    history.replaceState(null, "", url);
  }

  const pathOf = (name) => name.split("/").map(encodeURIComponent).join("/");
  const TITLE = "600 14px system-ui, sans-serif";

  // ---- The map ----------------------------------------------------------------------------------
  class FleetMap {
    constructor(canvas) {
      this.canvas = canvas;
      this.pen = canvas.getContext("2d");
      this.rollouts = new Map(); // by name: its cells as the API has them
      this.cells = []; // { rollout, name, kind, x, y }
      this.labels = [];
      this.cursor = -1;
      this.query();
      // Drawing makes it higher, which is no reason to draw again. Why, which makes it narrower, is
      // painted before 50,000 cells are laid out again.
      new ResizeObserver(() => { clearTimeout(this.sizing); this.sizing = setTimeout(() => { if (this.room() !== this.width) this.layout(); }); }).observe(canvas.parentElement);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
      canvas.addEventListener("mousemove", (event) => this.hover(event));
      canvas.addEventListener("mouseleave", () => { $("#hover").hidden = true; });
      canvas.addEventListener("click", (event) => { const at = this.at(event); if (at >= 0) { this.move(at); this.open(false); } });
      canvas.addEventListener("keydown", (event) => this.key(event));
      canvas.addEventListener("focus", () => { if (this.cursor < 0 && this.cells.length && canvas.matches(":focus-visible")) this.move(0); else this.ring(); }); // a click says where
      canvas.addEventListener("blur", () => this.ring());
    }
    room() { return Math.max(200, this.canvas.parentElement.clientWidth - 20); }
    query() {
      const params = new URL(location.href).searchParams;
      this.words = (params.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
      this.look = params.get("look") || "";
      this.kind = params.get("kind") || "";
      this.moment = params.get("at") || "";
    }
    async load(names) {
      const known = names && names.filter((each) => this.rollouts.has(each));
      if (names && names.some((each) => !this.rollouts.has(each) && each.includes("/"))) names = null;
      if (names && names.some((each) => !each.includes("/"))) names = null; // brakes concern all
      if (!names) {
        const one = this.canvas.dataset.rollout, at = this.moment && `at=${encodeURIComponent(this.moment)}`;
        const answer = await fetch(one ? `/api/v1/cells/${pathOf(one)}?${at}` : `/api/v1/cells?kind=${encodeURIComponent(this.kind)}&${at}`);
        if (!answer.ok && !(one && answer.status === 404)) throw new Error(String(answer.status)); // it was not there yet
        const found = answer.ok ? await answer.json() : { items: [] };
        const next = new Map((one && answer.ok ? [found] : found.items).map((each) => [each.rollout, each]));
        const same = next.size === this.rollouts.size && [...next].every(([name, each]) => this.alike(this.rollouts.get(name), each));
        this.rollouts = next;
        same ? this.update() : this.layout();
        return;
      }
      let same = true;
      await Promise.all(known.map(async (name) => {
        const before = this.rollouts.get(name);
        const answer = await fetch(`/api/v1/cells/${pathOf(name)}`, { headers: { "If-None-Match": `"${before.tag}"` } });
        if (answer.status === 304) return;
        if (!answer.ok) throw new Error(String(answer.status));
        const next = await answer.json();
        same = same && this.alike(before, next);
        this.rollouts.set(name, next);
      }));
      same ? this.update() : this.layout();
    }
    // Whether the same targets are in the same groups: then every cell stays where it is.
    alike(before, after) {
      if (!before || before.names.length !== after.names.length) return false;
      for (let i = 0; i < after.names.length; i += 1) {
        if (before.names[i] !== after.names[i]) return false;
        if ((before.kinds[before.cells[i]].group || "") !== (after.kinds[after.cells[i]].group || "")) return false;
      }
      return true;
    }
    update() {
      for (const cell of this.cells) {
        const map = this.rollouts.get(cell.rollout), kind = map.kinds[map.cells[cell.index]];
        const look = cell.kind.look;
        cell.kind = kind;
        if (kind.look !== look) { cell.bright = this.matches(cell); this.again(cell); }
      }
      this.ring();
    }
    // The cells of a rollout by group; they are kept for as long as its targets are the same.
    grouped(map) {
      if (map.groups) return map.groups;
      map.groups = new Map();
      map.names.forEach((name, index) => {
        const kind = map.kinds[map.cells[index]], group = kind.group || "";
        if (!map.groups.has(group)) map.groups.set(group, []);
        map.groups.get(group).push({ rollout: map.rollout, name, index, kind, x: 0, y: 0, bright: true });
      });
      return map.groups;
    }
    layout() {
      const width = this.width = this.room();
      let count = 0;
      for (const each of this.rollouts.values()) count += each.names.length;
      const size = this.size = count <= 600 ? 18 : count <= 3000 ? 13 : count <= 12000 ? 9 : 6;
      const here = this.cells[this.cursor], cells = [], labels = [];
      // Rollouts flow as words do: small ones beside each other, each as wide as its groups.
      let left = 0, y = 0, tall = 0;
      for (const map of this.rollouts.values()) {
        const groups = this.grouped(map);
        this.pen.font = TITLE;
        const head = [...groups.keys()].some(Boolean) ? 17 : 0, blocks = [];
        let x = 0, top = 24, row = 0, wide = Math.min(width, this.pen.measureText(map.rollout).width);
        for (const [group, some] of groups) {
          const most = Math.floor(width / size);
          const columns = Math.min(most, Math.max(Math.ceil(90 / size), Math.ceil(Math.sqrt(some.length * 2.2))));
          const across = columns * size, high = Math.ceil(some.length / columns) * size + head;
          if (x && x + across > width) { x = 0; top += row + 10; row = 0; }
          blocks.push({ group, some, x, top, columns, across });
          wide = Math.max(wide, x + across);
          x += across + 16;
          row = Math.max(row, high);
        }
        const high = top + row + 14;
        if (left && left + wide > width) { left = 0; y += tall; tall = 0; }
        labels.push({ x: left, y: y + 15, text: map.rollout, strong: true, width: Math.min(width, wide) });
        for (const each of blocks) {
          if (each.group) labels.push({ x: left + each.x, y: y + each.top + 12, text: each.group, width: each.across });
          each.some.forEach((cell, at) => {
            cell.x = left + each.x + (at % each.columns) * size;
            cell.y = y + each.top + head + Math.floor(at / each.columns) * size;
            cells.push(cell);
          });
        }
        left += Math.ceil(wide) + 36;
        tall = Math.max(tall, high);
      }
      y += tall;
      this.cells = cells;
      this.labels = labels;
      this.cursor = here ? cells.findIndex((each) => each.rollout === here.rollout && each.name === here.name) : -1;
      const scale = this.scale = Math.min(2, window.devicePixelRatio || 1);
      this.canvas.width = width * scale;
      this.canvas.height = Math.max(20, y) * scale;
      this.canvas.style.height = `${Math.max(20, y)}px`;
      this.canvas.style.width = `${width}px`;
      this.match();
      this.canvas.dataset.drawn = String(cells.length);
    }
    // A word has no space, so it is in one of the names or in none.
    matches(cell) {
      if (this.look && cell.kind.look !== this.look) return false;
      if (!this.words.length) return true;
      const kind = cell.kind;
      if (kind.shared !== cell.rollout) {
        kind.shared = cell.rollout;
        kind.text = `${cell.rollout} ${kind.group || ""} ${kind.state} ${kind.look}`.toLowerCase();
      }
      const name = cell.lower ||= cell.name.toLowerCase();
      return this.words.every((each) => name.includes(each) || kind.text.includes(each));
    }
    match() {
      const all = !this.look && !this.words.length;
      for (const cell of this.cells) cell.bright = all || this.matches(cell);
      this.draw();
    }
    colours() {
      const style = getComputedStyle(document.documentElement);
      const found = {};
      for (const each of ["failed", "held", "stopped", "moving", "soaking", "waiting", "done", "ignored", "ink", "dim", "paper", "link"]) found[each] = style.getPropertyValue(`--${each}`).trim();
      return found;
    }
    draw() {
      const pen = this.pen, colour = this.colour = this.colours();
      pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
      pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
      for (const each of this.labels) {
        pen.fillStyle = each.strong ? colour.ink : colour.dim;
        pen.font = each.strong ? TITLE : "12px system-ui, sans-serif";
        pen.fillText(this.short(each.text, each.width), each.x, each.y);
      }
      // Cells that look alike are painted together: to set a colour costs more than a square.
      const piles = {};
      for (const cell of this.cells) (piles[cell.kind.look] ||= [[], []])[cell.bright ? 1 : 0].push(cell);
      for (const [look, both] of Object.entries(piles)) both.forEach((pile, bright) => { if (pile.length) this.paint(look, bright, pile); });
      this.ringed = null;
      this.ring();
    }
    short(text, width) {
      if (this.pen.measureText(text).width <= width) return text;
      let most = text.length;
      while (most > 1 && this.pen.measureText(`${text.slice(0, most)}…`).width > width) most = Math.floor(most * 0.8);
      return `${text.slice(0, most)}…`;
    }
    paint(look, bright, pile) {
      const pen = this.pen, side = this.size - (this.size > 8 ? 3 : 1);
      pen.globalAlpha = bright ? 1 : 0.16;
      pen.fillStyle = pen.strokeStyle = this.colour[look];
      pen.lineWidth = side > 8 ? 2 : 1.2;
      if (side < 6 && look !== "failed") this.runs(pile, side);
      else for (const { x, y } of pile) SHAPES[look](pen, x, y, side);
      pen.globalAlpha = 1;
    }
    // Squares beside each other are one rectangle of a pattern: 50,000 alike are a thousand of them.
    runs(pile, side) {
      const pen = this.pen, colour = pen.fillStyle, size = this.size, scale = this.scale;
      const tile = new OffscreenCanvas(size * scale, size * scale), ink = tile.getContext("2d");
      ink.fillStyle = colour;
      ink.fillRect(0, 0, side * scale, side * scale);
      const pattern = pen.createPattern(tile, "repeat");
      for (let at = 0; at < pile.length;) {
        const { x, y } = pile[at];
        let end = at + 1;
        while (end < pile.length && pile[end].y === y && pile[end].x === x + (end - at) * size) end += 1;
        if (end - at > 3) {
          pattern.setTransform(new DOMMatrix([1 / scale, 0, 0, 1 / scale, x, y]));
          pen.fillStyle = pattern;
          pen.fillRect(x, y, (end - at) * size, side);
          pen.fillStyle = colour;
        } else for (; at < end; at += 1) pen.fillRect(pile[at].x, y, side, side);
        at = end;
      }
    }
    again(cell) {
      this.pen.clearRect(cell.x - 1, cell.y - 1, this.size, this.size);
      this.paint(cell.kind.look, cell.bright, [cell]);
    }
    // The cursor is drawn over its cell, and is taken off by painting the cells around it again.
    ring() {
      const before = this.ringed, size = this.size;
      if (before) {
        this.pen.clearRect(before.x - 3, before.y - 3, size + 3, size + 3);
        for (const cell of this.cells) if (Math.abs(cell.x - before.x) <= size && Math.abs(cell.y - before.y) <= size) this.again(cell);
      }
      const here = this.ringed = document.activeElement === this.canvas && this.cells[this.cursor] || null;
      if (!here) return;
      this.pen.strokeStyle = this.colour.ink;
      this.pen.lineWidth = 2;
      this.pen.strokeRect(here.x - 1.5, here.y - 1.5, size, size);
    }
    at(event) {
      const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top, size = this.size;
      return this.cells.findIndex((each) => x >= each.x && x < each.x + size && y >= each.y && y < each.y + size);
    }
    sentence(cell) {
      const kind = cell.kind, group = kind.group ? `, ${kind.group}` : "", why = kind.why ? `: ${kind.why}` : "";
      return `${cell.name}${group}, ${kind.state}${why}`;
    }
    hover(event) {
      const at = this.at(event), tip = $("#hover");
      if (at < 0) { tip.hidden = true; return; }
      const cell = this.cells[at];
      tip.textContent = this.sentence(cell);
      tip.hidden = false;
      const room = this.canvas.parentElement.clientWidth;
      tip.style.left = `${Math.max(0, Math.min(cell.x + this.size + 8, room - tip.offsetWidth - 4))}px`;
      tip.style.top = `${cell.y + this.size + 14}px`;
    }
    move(at) {
      this.cursor = at;
      this.ring();
      const cell = this.cells[at];
      $("#map-said").textContent = this.sentence(cell);
      const box = this.canvas.getBoundingClientRect(), y = box.top + cell.y;
      if (y < 80 || y > innerHeight - 40) scrollBy(0, y - innerHeight / 2);
    }
    key(event) {
      const at = this.cursor, cells = this.cells;
      if (!cells.length) return;
      const next = { ArrowRight: () => Math.min(cells.length - 1, at + 1), ArrowLeft: () => Math.max(0, at - 1), ArrowDown: () => this.beside(1), ArrowUp: () => this.beside(-1), Home: () => 0, End: () => cells.length - 1 }[event.key];
      if (next) { event.preventDefault(); this.move(next()); }
      else if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.open(true); }
    }
    beside(step) {
      const here = this.cells[this.cursor];
      let best = this.cursor, far = Infinity;
      this.cells.forEach((each, at) => {
        const down = (each.y - here.y) * step;
        if (down <= 0) return;
        const distance = down * 4 + Math.abs(each.x - here.x);
        if (distance < far) { far = distance; best = at; }
      });
      return best;
    }
    open(focus) {
      const cell = this.cells[this.cursor];
      openWhy(`/why/${pathOf(cell.rollout)}?target=${encodeURIComponent(cell.name)}${this.moment && `&at=${encodeURIComponent(this.moment)}`}`, focus);
    }
  }
  const SHAPES = {
    failed: (pen, x, y, s) => { pen.lineWidth = Math.max(2, s / 4); pen.beginPath(); pen.moveTo(x, y); pen.lineTo(x + s, y + s); pen.moveTo(x + s, y); pen.lineTo(x, y + s); pen.stroke(); },
    held: (pen, x, y, s) => { pen.fillRect(x, y, s * 0.36, s); pen.fillRect(x + s * 0.64, y, s * 0.36, s); },
    stopped: (pen, x, y, s) => pen.fillRect(x, y + s * 0.3, s, s * 0.4),
    moving: (pen, x, y, s) => { pen.beginPath(); pen.moveTo(x, y); pen.lineTo(x + s, y + s / 2); pen.lineTo(x, y + s); pen.fill(); },
    soaking: (pen, x, y, s) => { pen.beginPath(); pen.arc(x + s / 2, y + s / 2, s / 2 - 1, 0, 7); pen.stroke(); },
    waiting: (pen, x, y, s) => pen.strokeRect(x + 1, y + 1, s - 2, s - 2),
    done: (pen, x, y, s) => pen.fillRect(x, y, s, s),
    ignored: (pen, x, y, s) => pen.fillRect(x + s * 0.3, y + s * 0.3, s * 0.4, s * 0.4),
  };
  const canvas = $("#map");
  const map = canvas ? new FleetMap(canvas) : null;

  // ---- The filter: kept in the address ------------------------------------------------------------
  const filter = $("#filter");
  const TYPING_MS = 80; // the map follows at once, the service is asked when typing rests
  let typing = 0, painting = 0;
  filter?.addEventListener("input", () => { narrow(); clearTimeout(typing); typing = setTimeout(() => refresh().catch(stale), TYPING_MS); });
  filter?.addEventListener("submit", (event) => { event.preventDefault(); narrow(); refresh().catch(stale); });
  function narrow() {
    keep({ q: $("#q").value.trim() });
    if (!map) return;
    map.query();
    cancelAnimationFrame(painting);
    painting = requestAnimationFrame(() => map.match());
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-look]");
    if (!link || !map) return;
    event.preventDefault();
    keep({ look: new URL(link.href).searchParams.get("look") });
    map.query();
    map.match();
    refresh().catch(stale);
  });

  if (map) map.load(null).catch(() => { reset = true; });
  body.classList.toggle("alarm", Number($('[data-look="failed"] b')?.textContent || 0) > 0);
  const undo = $("[data-undo]");
  if (undo) setTimeout(() => undo.remove(), UNDO_MS);
  heard = performance.now();
  if (past) show("past", past);
  listen();

  // Another address of this screen, shown without loading it anew: the past moves by it (travel.js).
  async function go(url) {
    history.replaceState(null, "", url);
    if (map) map.query();
    await Promise.all([map ? map.load(null) : null, refresh()]);
  }
  window.tidegate = { go };
})();
