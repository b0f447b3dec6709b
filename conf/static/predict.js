// Judges a chosen answer, says what a wrong one would take, and opens the answer. Without
// this script there is nothing to choose from: the answer is opened by hand.
(() => {
  "use strict";
  for (const box of document.querySelectorAll(".predict-choices")) {
    const radios = [...box.querySelectorAll("input")];
    box.addEventListener("change", ({ target }) => {
      for (const radio of radios)
        radio.parentNode.className =
          "right" in radio.dataset ? "right" : radio === target ? "wrong" : "";
      // What stands between backticks is code.
      const said = target.dataset.said.split("`").map((piece, place) =>
        place % 2 ? Object.assign(document.createElement("code"), { textContent: piece }) : piece);
      box.querySelector(".predict-said").replaceChildren(...said);
      box.nextElementSibling.open = true;
    });
    // Arrows go from answer to answer and choose none: the space bar does.
    box.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      radios.at((radios.indexOf(event.target) + step) % radios.length).focus();
    });
  }
})();
