/** A button that switches between light and dark; until it is used the page follows the system. */
import { html } from "./elements";

export function schemeButton(): void {
  const header = document.querySelector("header.page");
  if (!header) return;
  let dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const button = html("button", { type: "button", class: "scheme" });
  const name = () => button.replaceChildren(dark ? "Light" : "Dark");
  button.addEventListener("click", () => {
    dark = !dark;
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
    name();
  });
  name();
  header.append(button);
}
