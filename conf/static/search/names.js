// What the explorer (explorer_line.js) and the search (calls.js) both know of names in a
// reader's line of code. Both load it.
window.codeNames = {
  // Names that people give to a whole model or an optimizer, and `Net()`: what is known of
  // a tensor's call isn't true of theirs.
  isModule: (x) => /^(?:(?:self\.)?(?:\w+_)?(?:model|module|\w*net|network|encoder|decoder|backbone|generator|discriminator|critic|actor|teacher|student|optimizer|optim|scheduler)(?:_?\d+|_ema|_copy)?|self|nn\.\w+\(.*\))$/i.test(x) ||
    /^(?!Variable|Parameter|\w*Tensor)[A-Z]\w*[a-z]\w*\([^()]*\)$/.test(x),
  // x is float32: of the dtypes that .to() takes, those whose own method was run are read
  // as that method.
  methodOf: (dtype) => ({ float32: "float", float64: "double", float16: "half", int64: "long" })[dtype] ?? dtype,
  // What may be code or plain English: two of them are no calls ("copy or view?").
  WORDS: new Set("array buffer copy cpu cuda data gpu image index list load model parameter parameters row save share state tensor view".split(" ")),
};
