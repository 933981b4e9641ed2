// How lines are told apart: by colour, by dashes and by markers, so that grey will do as well.

// A rule looks the same here and in the pictures: the palette comes with the data (results/palette.py).
const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const DASHES = { "-": "solid", "--": "dashed", "-.": [10, 3, 2, 3], ":": "dotted" };
const SYMBOLS = {
  o: "circle", s: "rect", "^": "triangle", D: "diamond", v: "emptyTriangle", P: "emptyCircle", X: "emptyRect", "*": "emptyDiamond", "<": "pin", ">": "arrow",
};

function mixed(a, b, share) {
  const part = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  const channels = [0, 1, 2].map((i) => Math.round(part(a, i) + share * (part(b, i) - part(a, i))));
  return `#${channels.map((x) => x.toString(16).padStart(2, "0")).join("")}`;
}

function viridis(share) {
  const at = Math.min(share, 0.9999) * (VIRIDIS.length - 1);
  return mixed(VIRIDIS[Math.floor(at)], VIRIDIS[Math.floor(at) + 1], at % 1);
}

// The first `ordered` are values of one setting: the larger, the further from the page's colour.
function shades(ordered) {
  const [dashes, symbols] = [Object.values(DASHES), Object.values(SYMBOLS)];
  return Array.from({ length: ordered }, (_, i) => {
    const share = ordered > 1 ? i / (ordered - 1) : 1;
    const colour = viridis(theme.dark ? 0.3 + 0.65 * share : 0.82 * (1 - share));
    return { colour, dash: dashes[i % dashes.length], symbol: symbols[i % symbols.length] };
  });
}

// A look for each line by its rule. Lines of one rule share its colour, and differ in dash and marker; where there is one
// rule only, they go from light to dark.
function looks(rules, ordered = 0) {
  const { rules: known, spare } = data.palette;
  const shaded = rules.length > 1 && new Set(rules).size === 1 ? rules.length : ordered;
  const rest = rules.slice(shaded);
  const strangers = [...new Set(rest.filter((rule) => !(rule in known)))];
  const seen = {};
  return [...shades(shaded), ...rest.map((rule) => {
    const { colour, dark, dash, marker } = known[rule] ?? spare[strangers.indexOf(rule) % spare.length];
    const variant = seen[rule] = (seen[rule] ?? -1) + 1;
    return { colour: theme.dark ? dark : colour, dash: later(DASHES, dash, variant), symbol: later(SYMBOLS, marker, variant) };
  })];
}

function later(names, first, steps) {
  const all = Object.keys(names);
  return names[all[(all.indexOf(first) + steps) % all.length]];
}
