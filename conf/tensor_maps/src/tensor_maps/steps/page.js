// What was printed stands in the list of steps, which is read without scripts: the data
// leave it out.
const data = JSON.parse(document.getElementById("data").textContent);
const listed = document.querySelectorAll("main > ol > li");
data.steps.forEach((step, index) => {
  step.printed = listed[index].querySelector("pre")?.textContent ?? "";
});
if (data.steps.length) tensorCopiesSteps(data, document.querySelector("main"));
// In a notebook the colours are the notebook's, which need not be the system's.
try {
  const around = frameElement.parentElement;
  const follow = () => {
    const [red, green, blue] = parent.getComputedStyle(around).color.match(/[\d.]+/g);
    document.documentElement.style.colorScheme =
      0.3 * red + 0.6 * green + 0.1 * blue > 128 ? "dark" : "light";
  };
  const seen = new MutationObserver(follow);
  for (const one of [parent.document.documentElement, parent.document.body])
    seen.observe(one, { attributes: true });
  follow();
} catch { }
