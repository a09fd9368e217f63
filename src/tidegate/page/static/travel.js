// The past: a slider over the journal, one change either way, and a film of them.
"use strict";
(() => {
  const $ = (selector) => document.querySelector(selector);
  const slider = $("#slider"), play = $("#play"), speed = $("#speed");
  const FRAME_MS = 1000; // at speed 1; a frame that takes longer is waited for
  let playing = false, timer = 0, busy = false, wanted = "";

  // The last address that was asked for wins; those in between are left out.
  async function show(url) {
    wanted = url;
    if (busy) return;
    busy = true;
    while (wanted) {
      const next = wanted;
      wanted = "";
      try { await tidegate.go(next); } catch (error) { pause(); }
    }
    busy = false;
    follow();
  }
  function follow() {
    const shown = $("#past-said time");
    if (!shown || document.activeElement === slider && sliding) return;
    slider.value = shown.dataset.second;
    slider.setAttribute("aria-valuetext", shown.dateTime);
  }

  // ---- The slider ---------------------------------------------------------------------------------
  let sliding = 0;
  const textOf = (seconds) => new Date(seconds * 1000).toISOString().replace(".000", "");
  slider.addEventListener("input", () => {
    pause();
    const text = textOf(Number(slider.value));
    slider.setAttribute("aria-valuetext", text);
    $("#past-said time").textContent = text;
    clearTimeout(sliding);
    sliding = setTimeout(() => {
      sliding = 0;
      const url = new URL(location.href);
      url.searchParams.set("at", text);
      show(url.href);
    }, 120);
  });

  // ---- Steps, and the film ------------------------------------------------------------------------
  const step = (way) => $(`#past-steps a[rel=${way}]`);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("#past-steps a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    pause();
    show(link.href);
  });
  function label(on) {
    playing = on;
    play.setAttribute("aria-pressed", String(on));
    play.textContent = on ? play.dataset.pause : play.dataset.play;
  }
  function pause() { clearTimeout(timer); if (playing) label(false); }
  async function frame() {
    const begun = performance.now(), next = step("next");
    if (!next) { pause(); return; }
    await show(next.href);
    if (playing) timer = setTimeout(frame, Math.max(0, FRAME_MS / Number(speed.value) - (performance.now() - begun)));
  }
  // A reader who asked the system for less motion gets one change a press, and no film.
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  play.addEventListener("click", () => {
    if (playing) { pause(); return; }
    if (calm.matches) { if (step("next")) show(step("next").href); return; }
    label(true);
    frame();
  });
  calm.addEventListener("change", () => { if (calm.matches) pause(); });
  document.addEventListener("visibilitychange", () => { if (document.hidden) pause(); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
    const way = { ",": "prev", ".": "next" }[event.key];
    if (way && step(way)) { event.preventDefault(); pause(); show(step(way).href); }
    else if (event.key === "p") { event.preventDefault(); play.click(); }
  });
})();
