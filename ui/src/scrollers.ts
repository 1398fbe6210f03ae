/** A table that fits needs no place in the tab order; one that scrolls does. */
export function scrollers(root: ParentNode = document): void {
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.setAttribute("tabindex", "0");
      else target.removeAttribute("tabindex");
    }
  });
  for (const scroller of root.querySelectorAll(".scroll")) watch.observe(scroller);
}
