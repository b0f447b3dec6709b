// What the scripts of several pages share.
// An element with its properties and its parts. A text stays text: it becomes no markup.
window.element = (name, properties, ...parts) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...parts);
  return made;
};
// A fact of a call: what it is about, the answer, and more of it.
window.factRow = ([title, answer, detail]) => window.element("div", {},
  window.element("dt", {}, title),
  window.element("dd", {}, answer, window.element("small", {}, detail)));
// Keeps what was asked, as names and values, in the address.
window.keepInAddress = (pairs, hash = "") => {
  const asked = new URLSearchParams(pairs.filter(([, value]) => value));
  const address = (asked.size ? `?${asked}` : location.pathname) + hash;
  try { history.replaceState(null, "", address); } catch { /* from a file: not kept */ }
};
// Loads scripts, which run one after the other.
window.loadScripts = (addresses) => Promise.all(addresses.map((src) =>
  new Promise((onload, onerror) => document.head.append(
    window.element("script", { src, async: false, onload, onerror })))));
