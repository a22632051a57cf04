// What is folded opens where a link or paper needs it; the page says everything without this too.
function unfold() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();

// Paper cannot unfold: print everything, unless the page leaves folded parts to the screen.
let folded = [];
addEventListener("beforeprint", () => {
  if (!document.body.classList.contains("unfolds")) return;
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const part of folded) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of folded) part.open = false;
});
