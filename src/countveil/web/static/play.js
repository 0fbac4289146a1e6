// Sliders of play say their value while they move.
// Enters: ranges with data-shown, perhaps data-words or data-after. Leaves: the text beside them. Must not know: any data.
"use strict";

document.documentElement.classList.add("scripted");

document.addEventListener("input", (event) => {
  const range = event.target;
  if (!(range instanceof HTMLInputElement) || !range.dataset.shown) return;
  const words = range.dataset.words ? range.dataset.words.split("|") : null;
  const text = words ? words[Number(range.value) - Number(range.min)] : range.value + (range.dataset.after || "");
  range.setAttribute("aria-valuetext", text);
  document.getElementById(range.dataset.shown).textContent = text;
});
