// Light or dark: what the system says until the reader says otherwise.

const theme = {
  watchers: [], // told of a change for as long as the page is open …
  shown: [], // … or until its parts are made again
  system: window.matchMedia("(prefers-color-scheme: dark)"),
  get dark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : this.system.matches;
  },
  colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  },
  show() {
    byId("theme").textContent = this.dark ? "Light" : "Dark";
    byId("theme").setAttribute("aria-label", `Switch to ${this.dark ? "light" : "dark"} colours`);
    for (const watcher of [...this.watchers, ...this.shown]) watcher();
  },
  start() {
    byId("theme").addEventListener("click", () => {
      document.documentElement.dataset.theme = this.dark ? "light" : "dark";
      this.show();
    });
    this.system.addEventListener("change", () => this.show());
    // On paper everything is light.
    window.addEventListener("beforeprint", () => {
      this.before = document.documentElement.dataset.theme;
      document.documentElement.dataset.theme = "light";
      this.show();
    });
    window.addEventListener("afterprint", () => {
      if (this.before) document.documentElement.dataset.theme = this.before;
      else delete document.documentElement.dataset.theme;
      this.show();
    });
    this.show();
  },
};
