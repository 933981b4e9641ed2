// Lines are named beside the plot, at the height of their ends, and keep out of each other's way.

const [ROW, ABOVE, BELOW] = [14, 22, 52]; // of a name's text; what the names of the axes take
const ruler = document.createElement("canvas").getContext("2d");

function wide(text) {
  ruler.font = "12px system-ui, sans-serif";
  return ruler.measureText(text).width;
}

function shortened(text, across) {
  if (wide(text) <= across) return text;
  let end = text.length - 1;
  while (end > 1 && wide(`${text.slice(0, end)}…`) > across) end -= 1;
  return `${text.slice(0, end)}…`;
}

// The same on as many rows as it needs, if it is one word.
function broken(text, across) {
  const rows = [""];
  for (const letter of text) {
    if (rows.at(-1) && wide(rows.at(-1) + letter) > across) rows.push("");
    rows.push(rows.pop() + letter);
  }
  return rows;
}

// In rows no wider than that, cut where words end; words that are longer are shortened, or broken.
function wrapped(text, across, fitted = (row) => [shortened(row, across)]) {
  const rows = [];
  for (const word of text.split(" ")) {
    if (rows.length && wide(`${rows.at(-1)} ${word}`) <= across) rows.push(`${rows.pop()} ${word}`);
    else rows.push(word);
  }
  return rows.flatMap(fitted);
}

// For lines { label, look } and the last point of each: the room that their names take at the right, and where these go.
// Where they do not fit on several rows each, they are on one; where not even so, the legend has to do.
function naming(lines, last, { width, height }) {
  const across = Math.min(Math.max(0, ...lines.map((line) => wide(line.label))), Math.min(280, 0.36 * width) - 14);
  const fits = (names) => ROW * names.flat().length <= height - ABOVE - BELOW;
  const found = [wrapped, (text) => [shortened(text, across)]].map((form) => lines.map((line) => form(line.label, across))).find(fits);
  if (!lines.length || !found) return { right: 18, placed: () => [] };
  const text = (line, rows, top) => ({
    type: "text", silent: true, x: width - across - 8, y: top, z: 10,
    style: { text: rows.join("\n"), font: "12px system-ui, sans-serif", lineHeight: ROW, fill: mixed(line.look.colour, theme.colour("text"), 0.35) },
  });
  return {
    right: across + 18,
    placed: (pixel) => {
      const wishes = lines.map((line, i) => ({ line, rows: found[i], tall: ROW * found[i].length, at: pixel(last(line)) })).filter(({ at }) => Number.isFinite(at));
      return apart(wishes, ABOVE, height - BELOW).map(({ wish, top }) => text(wish.line, wish.rows, top));
    },
  };
}

// Each as near to where it wants its middle to be as the others let it, in order, between both ends.
function apart(wishes, least, most) {
  const blocks = [];
  for (const wish of [...wishes].sort((a, b) => a.at - b.at)) {
    blocks.push(settled([wish], least, most));
    while (blocks.length > 1 && blocks.at(-2).top + blocks.at(-2).tall > blocks.at(-1).top) {
      const [above, below] = blocks.splice(-2);
      blocks.push(settled([...above.wishes, ...below.wishes], least, most));
    }
  }
  return blocks.flatMap(({ wishes: mine, top }) => mine.map((wish, i) => ({ wish, top: top + mine.slice(0, i).reduce((sum, one) => sum + one.tall, 0) })));
}

function settled(wishes, least, most) {
  let tall = 0, sum = 0;
  for (const wish of wishes) {
    sum += wish.at - wish.tall / 2 - tall;
    tall += wish.tall;
  }
  return { wishes, tall, top: Math.max(least, Math.min(sum / wishes.length, most - tall)) };
}
