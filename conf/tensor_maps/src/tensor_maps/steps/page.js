// The steps are packed JSON. Where a browser can't read it, the list stays.
const packed = atob(document.getElementById("data").textContent);
const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
new Response(stream).json().then((data) => {
  const main = document.querySelector("main");
  if (data.steps.length) tensorCopiesSteps(data, main);
  // A frame in a notebook is as high as what it shows, and has the notebook's colours,
  // which need not be the system's.
  try {
    const root = document.documentElement, around = frameElement.parentElement;
    root.classList.add("in-frame");
    let width = 0, height = 0;
    new ResizeObserver(() => {
      // Of one width it never shrinks: nothing below it moves up and down.
      height = Math.max(width === innerWidth ? height : 0, document.body.offsetHeight);
      width = innerWidth;
      frameElement.style.height = `${height}px`;
    }).observe(document.body);
    const follow = () => {
      const [red, green, blue] = parent.getComputedStyle(around).color.match(/[\d.]+/g);
      root.style.colorScheme =
        0.3 * red + 0.6 * green + 0.1 * blue > 128 ? "dark" : "light";
    };
    const seen = new MutationObserver(follow);
    for (const one of [parent.document.documentElement, parent.document.body])
      seen.observe(one, { attributes: true });
    follow();
  } catch { }
});
