// Makes one element like another with as few changes as possible: what has the focus, is open or is scrolled stays so.
// Children are told apart by their id, else by their place. One that is marked as the same stays as it is, where it now belongs.

export function morph(from, to) {
  if (to.dataset?.same !== undefined || from.isEqualNode(to)) return;
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) {
    from.replaceWith(to);
    return;
  }
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
    return;
  }
  attributes(from, to);
  if (from.nodeName === "TIME" && (from.dataset.since || from.dataset.until)) return; // `times.js` keeps its text
  children(from, to);
}

function attributes(from, to) {
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !(name === "open" && from.nodeName === "DETAILS")) from.removeAttribute(name);
  }
  for (const { name, value } of [...to.attributes]) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
}

function children(from, to) {
  const known = new Map([...from.children].filter((each) => each.id).map((each) => [each.id, each]));
  let at = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const same = wanted.id ? known.get(wanted.id) : undefined;
    if (same) {
      if (same === at) at = at.nextSibling;
      else from.insertBefore(same, at);
      morph(same, wanted);
    } else if (at && !wanted.id && !at.id && at.nodeName === wanted.nodeName) {
      const next = at.nextSibling;
      morph(at, wanted);
      at = next;
    } else {
      from.insertBefore(wanted, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
