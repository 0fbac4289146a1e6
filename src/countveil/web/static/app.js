// What pages need beside htmx: copying a line, and telling a screen reader what changed.
// Enters: elements with data-copy. Leaves: a button on each. Must not know: any data.
"use strict";

function offerCopies(root) {
  for (const line of root.querySelectorAll("[data-copy]")) {
    if (line.dataset.copy === "offered" || !navigator.clipboard) continue;
    line.dataset.copy = "offered";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(line.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select and copy";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    line.after(button);
  }
}

document.addEventListener("DOMContentLoaded", () => offerCopies(document));
document.addEventListener("htmx:load", (event) => offerCopies(event.detail.elt));
