// How lines are told apart: by colour, by dashes and by markers, so that grey will do as well.

// A rule looks the same here and in the pictures: the palette comes with the data (results/palette.py).
const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const DASHES = { "-": "solid", "--": "dashed", "-.": [10, 3, 2, 3], ":": "dotted" };
const SYMBOLS = {
  o: "circle", s: "rect", "^": "triangle", D: "diamond", v: "emptyTriangle", P: "emptyCircle", X: "emptyRect", "*": "emptyDiamond", "<": "pin",
};

function mixed(a, b, share) {
  const part = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  const channels = [0, 1, 2].map((i) => Math.round(part(a, i) + share * (part(b, i) - part(a, i))));
  return `#${channels.map((x) => x.toString(16).padStart(2, "0")).join("").toUpperCase()}`;
}

// The i-th of `count` shades of a colour, from light to dark.
function shade(colour, i, count) {
  const reach = data.palette.shades[Number(theme.dark)] * Math.min(1, (count + 1) / 6);
  const at = count > 1 ? reach * (2 * i / (count - 1) - 1) : 0;
  const parts = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  const one_sided = count > 1 && (Math.max(...parts) < 64 || Math.min(...parts) > 192); // as of black and white
  return mixed(one_sided ? "#808080" : colour, at > 0 ? "#000000" : "#FFFFFF", Math.abs(at));
}

// A look for each line by its rule: of several layers, that of the first. Lines of one rule are shades of its colour, the
// later the further from the page's own, and differ in dash and marker.
function looks(rules) {
  const first = rules.map((rule) => rule.split("+")[0]);
  const seen = Object.create(null);
  return first.map((rule) => {
    const { colour, dark, dash, marker } = ruleLook(rule);
    const [i, count] = [seen[rule] = (seen[rule] ?? -1) + 1, first.filter((one) => one === rule).length];
    const shaded = theme.dark ? shade(dark, count - 1 - i, count) : shade(colour, i, count);
    return { colour: shaded, dash: later(DASHES, dash, i), symbol: later(SYMBOLS, marker, i) };
  });
}

// Users' rules get spare looks in the order of their names, and keep them while the page is open, whatever it shows.
const ownRules = [];
function ruleLook(rule) {
  const { rules, spare } = data.palette;
  if (Object.hasOwn(rules, rule)) return rules[rule];
  if (!ownRules.includes(rule)) {
    const named = data.settings.map((one) => one.rule.split("+")[0]).sort();
    ownRules.push(...new Set([...named, rule].filter((one) => !Object.hasOwn(rules, one) && !ownRules.includes(one))));
  }
  return spare[ownRules.indexOf(rule) % spare.length];
}

function later(names, first, steps) {
  const all = Object.keys(names);
  return names[all[(all.indexOf(first) + steps) % all.length]];
}
