// What a reader can turn: all of it ordinary form elements, so that a keyboard and a screen reader know them.

let named = 0;

// One of a few: a row of radio buttons.
function choice(label, options, value, change) {
  const name = `choice-${named += 1}`;
  return el("fieldset", { class: "choice" }, el("legend", {}, label), Object.entries(options).map(([key, text]) =>
    el("label", {}, el("input", {
      type: "radio", name, value: key, checked: key === value, onchange: () => change(key),
    }), el("span", {}, text))));
}

// The legend of a chart: each line a button that shows or hides it.
function legend(lines, hidden, change) {
  return el("div", { class: "legend", role: "group", "aria-label": "Lines shown" }, lines.map(({ label, look }) => {
    const made = button("", () => {
      if (!hidden.delete(label)) hidden.add(label);
      made.setAttribute("aria-pressed", String(!hidden.has(label)));
      change();
    }, { "aria-pressed": String(!hidden.has(label)), class: "line" });
    made.append(swatch(look), label);
    return made;
  }));
}

function swatch(look) {
  const made = el("span", { class: "swatch", "aria-hidden": "true" });
  made.style.borderTopColor = look.colour;
  made.style.borderTopStyle = look.dash === "dotted" ? "dotted" : look.dash === "solid" ? "solid" : "dashed";
  return made;
}

function slider(label, names, value, change) {
  const output = el("output", {}, names[value]);
  const input = el("input", {
    type: "range", min: 0, max: names.length - 1, step: 1, value, "aria-valuetext": names[value],
    oninput: () => {
      output.textContent = names[input.value];
      input.setAttribute("aria-valuetext", names[input.value]);
      change(Number(input.value));
    },
  });
  return el("label", { class: "slider" }, label, input, output);
}

function select(label, names, value, change) {
  const input = el("select", { onchange: () => change(Number(input.value)) },
    names.map((name, i) => el("option", { value: i, selected: i === value }, name)));
  return el("label", { class: "select" }, label, input);
}
