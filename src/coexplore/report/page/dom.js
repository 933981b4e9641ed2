// Elements made of data. Text is only ever set as text: nothing that a store says becomes markup.

// The page's policy asks here whatever is about to become markup: the charting library empties elements so, and that is all.
window.trustedTypes?.createPolicy("default", { createHTML: (text) => text === "" ? "" : null });

const byId = (id) => document.getElementById(id);

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const say = (text) => { byId("status").textContent = text; };

const button = (text, onclick, attributes = {}) => el("button", { type: "button", onclick, ...attributes }, text);

// Where the clipboard may not be used (an old browser), the text is at least selected.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "quiet", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("Copied");
}

function download(name, text) {
  const link = el("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  say(`Saved ${name}`);
}

const command = (text) => text === null || text === undefined ? null : el("span", { class: "command" },
  el("code", {}, text), button("copy", () => copy(text), { class: "small", "aria-label": `Copy the command ${text}` }));

// Only the cells' own text goes into a table; the first cell of a row names it.
const table = (columns, rows, attributes = {}) => el("table", attributes,
  el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name)))),
  el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) =>
    el(i ? "td" : "th", { scope: i ? null : "row", "data-label": columns[i] }, cell))))));

// A spreadsheet takes a cell that starts like a formula for one: such text gets an apostrophe.
function csv(columns, rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t]/.test(value) ? `'${value}` : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}
