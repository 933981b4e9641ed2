// How lines are told apart: by colour, by dashes and by markers, so that grey will do as well.

// Okabe and Ito's colours, told apart with any kind of colour vision; a little lighter in the dark.
const OKABE_ITO = {
  light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"],
  dark: ["#3D9FE0", "#F0793B", "#2DBE93", "#DD92BC", "#F0B433", "#8CD0F5"],
};
const palette = () => OKABE_ITO[theme.dark ? "dark" : "light"];
const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const DASHES = ["solid", "dashed", [10, 3, 2, 3], "dotted"];
const SYMBOLS = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle", "emptyDiamond"];

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
function looks(count, ordered) {
  const others = ordered ? [palette()[1], palette()[3]] : palette();
  return Array.from({ length: count }, (_, i) => {
    const share = ordered > 1 ? i / (ordered - 1) : 1;
    const shade = theme.dark ? 0.3 + 0.65 * share : 0.82 * (1 - share);
    const own = others[(i - Math.max(ordered, 0)) % others.length];
    const spare = theme.dark ? "#f0f0f0" : "#111111";
    const colour = i < ordered ? viridis(shade) : ordered === 0 && i % 7 === 6 ? spare : own;
    return { colour, dash: DASHES[i % DASHES.length], symbol: SYMBOLS[i % SYMBOLS.length] };
  });
}
