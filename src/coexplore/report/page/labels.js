// What lines are called: what tells them from the others beside them, and no more.

const ruleName = (rule) => data.palette.names[rule] ?? rule;

// A label for each of these settings. Settings of a rule are told apart within the rule, all others among all; where all
// have one rule, that goes without saying.
function labelled(settings) {
  const groups = new Map();
  const seen = (key, value) => groups.set(key, (groups.get(key) ?? new Set()).add(value));
  const key = (one, name) => data.of_rules.includes(name) ? `${one.rule} ${name}` : name;
  for (const one of settings) for (const [name, value] of Object.entries(one.words)) seen(key(one, name), value);
  const rules = new Set(settings.map((one) => one.rule));
  return settings.map((one) => {
    const words = Object.entries(one.words).filter(([name]) => groups.get(key(one, name)).size > 1).map(([name, value]) => `${name}=${value}`);
    return [...(rules.size > 1 || !words.length ? [ruleName(one.rule)] : []), ...words].join(" ");
  });
}

// By their labels, numbers by what they are: 0.25 before 0.5, and 2 before 10.
const inOrder = (settings) => {
  const padded = (label) => label.replace(/\d+(\.\d+)?(e[+-]?\d+)?/g, (digits) => Number(digits).toFixed(12).padStart(32, "0"));
  const labels = new Map(labelled(settings).map((label, i) => [settings[i], padded(label)]));
  return [...settings].sort((a, b) => labels.get(a).localeCompare(labels.get(b), "en"));
};

// What all of them share and the labels therefore leave out: the rule, where it is one.
const shared = (settings) => new Set(settings.map((one) => one.rule)).size === 1 ? ruleName(settings[0].rule) : "";
