// What pages need beside htmx: copying a line, and showing the current step on a phone.
// Enters: elements with data-copy, the list of steps. Leaves: a button on each line, the list moved
// sideways. Must not know: any data.
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

function showCurrentStep() {
  const step = document.querySelector(".steps [aria-current]");
  const list = step && step.closest("ol");
  if (!list) return;
  const [frame, place] = [list.getBoundingClientRect(), step.getBoundingClientRect()];
  if (place.right > frame.right || place.left < frame.left) {
    list.scrollLeft += place.left - frame.left - (frame.width - place.width) / 2;
  }
}

document.addEventListener("DOMContentLoaded", () => {
  offerCopies(document);
  showCurrentStep();
});
document.addEventListener("htmx:load", (event) => offerCopies(event.detail.elt));
