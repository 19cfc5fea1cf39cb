// Parts of a page that are loaded once it is shown, and again while it changes: what takes long holds up no first paint.

const AGAIN = 5000; // milliseconds between two looks at a part
const SOON = 500; // the same for one that is soon over

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
  const over = place.hasAttribute("data-until-over") && !place.querySelector("[role=status]");
  if (place.hasAttribute("data-again") && !over) setTimeout(() => (document.hidden ? later(place) : fill(place)), place.hasAttribute("data-until-over") ? SOON : AGAIN);
}

function later(place) {
  document.addEventListener("visibilitychange", () => fill(place), { once: true });
}
