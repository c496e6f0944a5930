// Runs before anything is drawn, so that the page never flashes in the wrong theme. A plain script: modules come later.
(() => {
  try {
    const base = document.documentElement.dataset.base;
    const theme = JSON.parse(localStorage.getItem(`pi-board:${base}:theme`));
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // a browser that remembers nothing goes by the system's theme
  }
})();
