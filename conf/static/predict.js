// Says what a wrong answer would take, opens the proof, keeps a page's score. Without
// this script there are no answers to choose from: the proof is opened by hand.
(() => {
  "use strict";
  const STORE = "tensor-copies-check";
  const boxes = [...document.querySelectorAll(".predict-choices")].map((box) => ({
    box,
    key: box.dataset.key,
    radios: [...box.querySelectorAll("input")],
    proof: box.nextElementSibling,
  }));
  const scores = [...document.querySelectorAll(".predict-score")];
  let first = {}; // the number of the first answer to each question, by its key
  // In a private window nothing is kept: the score is of this visit.
  try { first = JSON.parse(localStorage.getItem(STORE)) || {}; } catch { }
  const element = (name, text, more = {}) =>
    Object.assign(document.createElement(name), { textContent: text }, more);

  const isRight = (radio) => "right" in radio.dataset;

  const show = ({ box, radios }, chosen) => {
    for (const radio of radios) {
      radio.checked = radio === chosen;
      radio.parentNode.className =
        chosen && isRight(radio) ? "right" : radio.checked ? "wrong" : "";
    }
    // What stands between backticks is code.
    const pieces = chosen ? chosen.dataset.said.split("`") : [];
    box.querySelector(".predict-said").replaceChildren(...pieces.map(
      (piece, place) => place % 2 ? element("code", piece) : piece));
  };

  const tell = () => {
    try { localStorage.setItem(STORE, JSON.stringify(first)); } catch { }
    const done = boxes.filter(({ key, radios }) => radios[first[key]]);
    const wrong = done.filter(({ key, radios }) => !isRight(radios[first[key]]));
    const links = {};
    for (const { proof } of wrong) {
      for (const { href, textContent } of proof.querySelectorAll("a[href*=auto_examples]")) {
        links[href] = textContent;
      }
    }
    const left = boxes.length - done.length;
    for (const score of scores) {
      score.hidden = false;
      if (!done.length) {
        score.replaceChildren(element("p",
          `${boxes.length} questions. Only your first answers count. They stay in this browser.`));
        continue;
      }
      const line = element("p", "");
      line.append(
        element("strong", `${done.length - wrong.length} of ${done.length} right`),
        left ? `, ${left} to go` : "",
        ...Object.entries(links).flatMap(([href, text], place) =>
          [place ? ", " : " \u00b7 read again: ", element("a", text, { href })]),
      );
      score.replaceChildren(line,
        element("button", "Start again", { type: "button", onclick: again }));
    }
  };
  const again = () => {
    first = {};
    for (const one of boxes) {
      show(one, null);
      one.proof.open = false;
    }
    tell();
    boxes[0].radios[0].focus();
  };

  for (const one of boxes) {
    const { key, radios, proof } = one;
    radios.forEach((radio, place) => {
      radio.addEventListener("change", () => {
        show(one, radio);
        proof.open = true;
        if (!scores.length) return;
        first[key] ??= place;
            tell();
      });
      // Arrows go from answer to answer and choose none: the space bar does.
      radio.addEventListener("keydown", (event) => {
        const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        radios.at((place + step) % radios.length).focus();
      });
    });
    if (scores.length && radios[first[key]]) show(one, radios[first[key]]);
  }
  if (scores.length && boxes.length) {
    const end = scores[0].cloneNode();
    boxes.at(-1).proof.after(end);
    scores.push(end);
    tell();
  }
})();
