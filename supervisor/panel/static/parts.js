// Parts of a page that are loaded once it is shown, and again while it changes: what takes long holds up no first paint.

const AGAIN = 5000; // milliseconds between two looks at a part

export function load() {
  for (const place of document.querySelectorAll("[data-part]")) fill(place);
}

async function fill(place) {
  try {
    const answer = await fetch(place.dataset.part, { headers: { accept: "text/html" } });
    if (answer.ok) {
      const open = place.querySelector("details")?.open;
      const made = new DOMParser().parseFromString(await answer.text(), "text/html");
      place.replaceChildren(...made.body.childNodes);
      if (open && place.querySelector("details")) place.querySelector("details").open = true;
    }
  } catch {
    // The panel is away; the page says so by itself.
  }
  place.removeAttribute("aria-busy");
  if (place.hasAttribute("data-again")) setTimeout(() => (document.hidden ? later(place) : fill(place)), AGAIN);
}

function later(place) {
  document.addEventListener("visibilitychange", () => fill(place), { once: true });
}
