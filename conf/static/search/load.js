// All that the search needs, loaded with the first key in one of its boxes (the script at
// the end of templates/page.html) and not before. Without it they ask search.html.
(() => {
  "use strict";
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const add = (name, made) =>
    document.head.append(Object.assign(document.createElement(name), made));
  for (const name of ["../signs.css", "results.css"])
    add("link", { rel: "stylesheet", href: here + name });
  for (const name of [
    "../parts.js", "../messages.js", "../find_message.js", "../search_index.js",
    "../read_calls.js", "minisearch.js", "rank.js", "results.js",
  ]) add("script", { async: false, src: here + name }); // one after the other
})();
