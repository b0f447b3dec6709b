// All that the search needs, loaded with the first key in one of its boxes (the script at
// the end of templates/page.html) and not before. Without it they ask search.html.
(() => {
  "use strict";
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const NEEDED = [
    "../messages.js", "../find_message.js", "../search_index.js",
    "../read_calls.js", "minisearch.js", "rank.js", "results.js",
  ];
  for (const name of ["../signs.css", "results.css"]) {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = here + name;
    document.head.append(style);
  }
  for (const name of NEEDED) {
    const script = document.createElement("script");
    script.async = false; // one after the other
    script.src = here + name;
    document.head.append(script);
  }
})();
