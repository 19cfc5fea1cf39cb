// Keeps the page current by server-sent events. The browser reconnects by itself, and says which event it saw last.
import { morph } from "./morph.js";
import { places, settle } from "./settling.js";
import { setTimes } from "./times.js";

const MOST_ROWS = 1000; // of a timeline that is open for long; the page has the earlier ones behind a link

export function follow(path) {
  const timeline = document.getElementById("timeline");
  const source = new EventSource(timeline ? `${path}?after=${timeline.dataset.last}` : path);
  const on = (kind, does) => source.addEventListener(kind, (event) => does(JSON.parse(event.data)));
  source.onopen = () => state("live");
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) ended("You are signed out, or the panel was started anew. Load the page again.");
    else state("waits");
  };
  on("fragment", ({ id, html }) => {
    const place = document.getElementById(id);
    if (!place) return location.reload(); // the page said that the daemon is away
    const wanted = place.cloneNode(false);
    wanted.append(parsed(html));
    const focused = document.activeElement?.closest("[id]")?.id;
    const before = places(document);
    morph(place, wanted);
    settle(document, before);
    if (place.querySelector("[data-same]")) return location.reload(); // it is not here, whatever the panel thinks
    setTimes(place);
    // A card that moved to another group is a new element: the focus goes with it.
    if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus({ preventScroll: true });
  });
  on("rows", ({ id, html }) => {
    const place = document.getElementById(id);
    if (new URLSearchParams(location.search).has("before")) return; // a page of earlier rows stays what it is
    for (const row of [...parsed(html).children]) if (document.getElementById(row.id)) document.getElementById(row.id).remove();
    place.prepend(parsed(html));
    place.nextElementSibling?.classList.contains("empty") && place.nextElementSibling.remove();
    while (place.children.length > MOST_ROWS) place.lastElementChild.remove();
    setTimes(place);
  });
  on("daemon", ({ away }) => {
    notice(away);
    state(away ? "away" : "live");
  });
  on("gone", ({ what }) => ended(what));
  on("reload", () => location.reload());
  function ended(what) {
    source.close();
    notice(what);
    state("ended");
  }
}

function parsed(html) {
  // A document of its own: nothing in it is loaded or run.
  const made = new DOMParser().parseFromString(`<template>${html}</template>`, "text/html");
  return document.importNode(made.querySelector("template").content, true);
}

function state(word) {
  const shown = document.getElementById("link");
  shown.dataset.state = word;
  shown.textContent = { live: "live", waits: "connecting…", away: "daemon away", ended: "ended" }[word];
}

function notice(text) {
  const place = document.getElementById("notice");
  place.textContent = text;
  place.hidden = !text;
}
