// A card that came or moved just now takes no click and no key: they were meant for what stood there before.
// A person reacts to a change after 0.25 s, and after 0.5 s and more if they must choose what to do.

const SETTLING_MS = 800;

function cards(place) {
  return [...place.querySelectorAll(".waits[id]")];
}

export function places(place) {
  return new Map(cards(place).map((card) => [card, card.getBoundingClientRect().top]));
}

// Marks what is not where it was; the mark is the animation by which a person sees it.
export function settle(place, before) {
  for (const card of cards(place)) {
    const id = !before.has(card) ? "came" : before.get(card) !== card.getBoundingClientRect().top ? "moved" : "";
    if (id) card.animate([{ opacity: 0.4 }, { opacity: 1 }], { id, duration: SETTLING_MS });
  }
}

// A key is meant for the card that has the focus, wherever that is by now.
export function isSettling(button, byPointer) {
  const marks = button.closest(".waits")?.getAnimations() ?? [];
  return marks.some((mark) => mark.id === "came" || (byPointer && mark.id === "moved"));
}
