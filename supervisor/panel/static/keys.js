// The keyboard: rows are walked with j and k, and each button has the key that its page gives it.

let goes = false;

export function listen() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches("input, textarea, select")) return;
    if (goes) {
      goes = false;
      const link = document.querySelector(`nav a[data-go="${CSS.escape(event.key)}"]`);
      if (link) location.assign(link.href);
      return;
    }
    if (event.key === "g") goes = true;
    else if (event.key === "?") document.getElementById("keys").showModal();
    else if (event.key === "j" || event.key === "k") walk(event.key === "j" ? 1 : -1);
    else if (event.key === "Enter" && event.target.matches(".row[data-open]")) location.assign(event.target.dataset.open);
    else if (!press(event.key)) return;
    event.preventDefault();
  });
}

function rows() {
  return [...document.querySelectorAll("main .row")].filter((row) => row.checkVisibility());
}

function walk(by) {
  const all = rows();
  const here = all.indexOf(document.activeElement?.closest(".row"));
  const next = all[here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + by))];
  if (!next) return;
  if (!next.hasAttribute("tabindex")) next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function press(key) {
  const row = document.activeElement?.closest(".row");
  const within = row ?? (document.querySelectorAll("main .row").length === 1 ? document : null);
  const button = (within ?? document.getElementById("agent"))?.querySelector(`[data-key="${CSS.escape(key)}"]`);
  button?.click();
  return Boolean(button);
}
