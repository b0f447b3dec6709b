// The words of a text, as the search compares them: small letters, no endings, one way
// to write what is written in several. The same for what is asked and what is found.
(() => {
  "use strict";
  // Written together, apart or with a mark: one word.
  const TOGETHER = [
    [/\bin[-_ ]?place\b/g, "inplace"],
    [/\bnon[-_ ]?leaf\b/g, "leaf nonleaf"],
    [/\bno[-_ ]grad\b/g, "nograd"],
    [/\bstate[-_ ]?dicts?\b/g, "statedict"],
    [/\bdata[-_ ]?loaders?\b/g, "dataloader"],
    [/\bdeep[-_ ]?cop(y|ied|ies)\b/g, "copy deepcopy"],
    [/\bnon[-_ ]?blocking\b/g, "nonblocking"],
    [/\bbatch[-_ ]?norm\w*/g, "batchnorm"],
    [/\bback[-_ ]?prop\w*/g, "backward"],
    [/\bmulti[-_ ]?process\w*/g, "multiprocess"],
    [/\bout of memory\b|\boom\b/g, "memory outofmemory"],
    [/\bread[-_ ]only\b|\bnot writ(e)?able\b|\bnon-writ(e)?able\b/g, "readonly"],
    [/\bdata_?ptr\b/g, "data ptr"],
    [/\bnp\b/g, "numpy"],
    [/\b(float|double|half|long|int|byte|bool)tensors?\b/g, "$1 tensor"],
    [/\bfp(16|32|64)\b/g, "float$1"],
    [/\bbf16\b/g, "bfloat16"],
    [/\bckpt?s?\b/g, "checkpoint"],
    [/\bnum_?workers\b/g, "worker"],
    [/\bexpansions?\b/g, "expand"],
    [/\bbn\b/g, "batchnorm"],
    [/\bste\b/g, "straight through"],
    [/\bopt\d*\.(?=[a-z])/g, "optimizer "],
    [/\bdiff?erentiable\b/g, "differentiate"],
    [/\bnd-?arrays?\b/g, "array numpy"],
    [/\bgrads\b/g, "grad"],
    [/\bno longer\b/g, "not"],
    [/\brequire(s|d)? grad(ient)?s?\b/g, "requires_grad"],
  ];
  // Words of nearly every question and of nearly every section.
  const IDLE = new Set((
    "a about after all also am an and any are as at be because been before being both but by " +
    "can cant could did do does doesn doing don during each either else even every for from " +
    "get gets getting give given gives go goes going got had has have having how i if in " +
    "instead into is isn it its just know let like lot make makes making many may maybe me " +
    "mean means might more most much must my need needs nor now of off ok on one only " +
    "or other our out over people please possible properly pytorch quite really right s " +
    "same say see seem seems should shouldn simply so some someone something still such sure t " +
    "take than that the their them then there these they thing this those through thus " +
    "till to torch too try trying two understand until up upon us use used uses " +
    "using very via want wants was wasn way we were what when where whether which while who " +
    "why will with won would wrong x y you your"
  ).split(" "));
  // Endings that say no more than the word: copies, copied and copying are copi.
  const stem = (word) => {
    if (word.length < 4 || /\d/.test(word)) return word;
    let root = word.replace(/'s$/, "");
    if (/[^aeious]s$/.test(root) || /[aeio]es$/.test(root) || /[^s]es$/.test(root) ||
        /[aeo]s$/.test(root)) root = root.replace(/ies$/, "y").replace(/s$/, "");
    const plain = root.replace(/(?:ing|ed)$/, "");
    if (plain !== root && plain.length > 2 && /[aeiouy]/.test(plain))
      root = plain.replace(/([^aeiouls])\1$/, "$1");
    const noun = root.replace(/(?:at(?:ion|or|e)|ion|ible)$/, "");
    if (noun.length > 3) root = noun;
    return root.replace(/(?:ment|ly)$/, "").replace(/e$/, "").replace(/y$/, "i");
  };

  const TOGETHER_AT_ALL = new RegExp(TOGETHER.map(([written]) => written.source).join("|"));
  const roots = new Map(); // words that were met: most are met often
  const rootOf = (word) => {
    if (!roots.has(word)) roots.set(word, IDLE.has(word) ? "" : stem(word));
    return roots.get(word);
  };
  const wordsOf = (text) => {
    let plain = text.toLowerCase().replace(/[‘’]/g, "'").replace(/\.to\b|\bto(?=\()/g, " move ")
      .replace(/n't\b/g, "");
    if (TOGETHER_AT_ALL.test(plain))
      for (const [written, word] of TOGETHER) plain = plain.replace(written, word);
    return (plain.match(/[\p{L}\d]+/gu) ?? []).map(rootOf).filter(Boolean);
  };

  // What a reader calls a thing and what it is called here. Each group: any for any.
  const MEANT_ALIKE = [
    "gpu cuda device accelerator",
    "cpu host ram",
    "array numpy matplotlib",
    "copy clone duplicate replicate snapshot",
    "history graph tape track record",
    "share alias same view reference pointer follow link",
    "freeze frozen fix constant untrainable lock",
    "leak grow accumulate increase keep explode creep",
    "slow fast speed faster slower cost time expensive performance overhead benchmark",
    "change modify overwrite edit mutate write update affect alter corrupt",
    "move transfer bring send upload download fetch pull offload",
    "convert turn cast transform change",
    "gradient grad derivative autograd",
    "backward differentiate",
    "stop cut prevent block break disconnect disable detach truncate",
    "save store checkpoint load file resume restore",
    "weight parameter param",
    "model module network net layer",
    "loop iteration epoch step",
    "none missing empty null nothing zero",
    "memory ram vram storage buffer",
    "scalar number float item python",
    "flatten reshape view",
    "slice row part index subset",
    "wait synchronize async asynchronous nonblocking",
    "error exception message fail crash raise",
    "difference vs versus compare differ",
    "type dtype",
    "loss criterion",
    "list append",
    "inference evaluation eval validation test predict",
    "train training learn",
    "notebook jupyter kernel colab",
    "average mean ema polyak",
    "safe dangerous",
    "undo remove reset clear",
    "independent separate",
    "address pointer ptr",
    "warning warn",
    "process worker multiprocess dataloader fork spawn",
    "big large huge",
    "plot matplotlib",
    "trainable learnable parameter",
    "intermediate nonleaf activation hidden",
    "stuck unchanged ignore",
    "free release flush",
    "pinned locked",
    "teacher student target distill",
    "size shape length dimension",
    "size byte mb usage consumption footprint",
    "different unequal variable ragged mismatch inconsistent",
    "pad ragged",
    "calculate compute estimate determine measure assess count",
    "wrong incorrect bad",
    "float16 half",
    "float32 float",
    "float64 double",
    "inf infinite overflow",
    "seed deterministic nondeterministic reproduce random",
    "optimizer optim adam sgd",
    "precision accuracy digit round",
    "permute transpose swap axis order",
    "mask bool",
    "rate lr",
    "image pil picture",
    "dataframe pandas series",
    "uint8 byte",
    "disk file",
    "list dict nested",
    "batchnorm norm",
    "zero clear none",
    "kill crash",
    "typecast cast dtype",
    "twice double duplicate",
    "clamp clip constrain",
    "statistic mean var average",
  ];
  // Words of the site's subject, and those that others use as well: they say half as much.
  const SUBJECT = new Map([[2, (
    "accumulate actor alias allocate ancdata argmax autocast autograd backward " +
    "bfloat16 buffer chunk collate contiguous critic cudagraph cupy dataframe dataloader " +
    "ddp deepcopy detach deterministic differentiate dlpack dtype duplicate ema " +
    "empty_cache expand float16 float64 fragment frozen fsdp gradscaler half hessian hook " +
    "independent inf inplace jax leaf maml matplotlib meta mmap mps mutate ndarray nograd " +
    "nonblocking nondeterministic nonleaf numpy outofmemory overflow overwrite pickle " +
    "pinned ragged readonly replica reproduce requires_grad reshape retain safetensor " +
    "snapshot statedict stride synchronize teacher tf32 tie trainable transpose uint8 " +
    "unfreeze unpickle vmap vram writable"
  )], [1, (
    "advantage array batchnorm bool checkpoint clone copy counter cpu cuda device embed float32 " +
    "fork freeze gpu grad gradient graph host image inference leak mask memory pad " +
    "parameter pil pin ram reference register resume round seed share slice " +
    "state storage tape view worker"
  )]].flatMap(([much, words]) => words.split(" ").map((word) => [stem(word), much])));
  const alike = new Map();
  for (const group of MEANT_ALIKE) {
    const words = [...new Set(group.split(" ").map(stem))];
    for (const word of words)
      alike.set(word, [...new Set([...(alike.get(word) ?? []), ...words])]
        .filter((other) => other !== word));
  }
  window.searchWords = { wordsOf, alike, subjectOf: (word) => SUBJECT.get(word) ?? 0 };
})();
