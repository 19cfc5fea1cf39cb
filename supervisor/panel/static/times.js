// Keeps ages and countdowns current. The server's own texts are times, so that they are right without scripts.

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

export function keepTimes() {
  setTimes(document);
  setInterval(() => setTimes(document), 1000);
}

export function setTimes(root) {
  const now = Date.now() / 1000;
  for (const each of root.querySelectorAll("time[data-since]")) put(each, `for ${spelled(now - each.dataset.since)}`);
  for (const each of root.querySelectorAll("time[data-until]")) {
    const left = each.dataset.until - now;
    put(each, left > 0 ? `in ${spelled(left)}` : "now");
    each.classList.toggle("soon", left < 60);
  }
}

function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function spelled(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const at = UNITS.findIndex(([, size]) => whole >= size);
  if (at < 0) return "0 s";
  const [unit, size] = UNITS[at];
  const rest = UNITS[at + 1];
  const more = rest && at > 0 ? Math.floor((whole % size) / rest[1]) : rest ? Math.floor((whole % size) / rest[1]) : 0;
  return `${Math.floor(whole / size)} ${unit}${more && unit !== "min" ? ` ${more} ${rest[0]}` : ""}`;
}
