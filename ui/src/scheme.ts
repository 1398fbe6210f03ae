/** A button that switches between light and dark; until it is used the page follows the system. */
import { html } from "./elements";

/** `kept` is the name under which the browser keeps the choice for the next page, if it should. */
export function schemeButton(kept?: string): void {
  const header = document.querySelector("header.page");
  if (!header) return;
  const choice = kept === undefined ? null : localStorage.getItem(kept);
  let dark = choice === null ? matchMedia("(prefers-color-scheme: dark)").matches : choice === "dark";
  const button = html("button", { type: "button", class: "scheme" });
  const use = () => {
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
  };
  const name = () => button.replaceChildren(dark ? "Light" : "Dark");
  button.addEventListener("click", () => {
    dark = !dark;
    use();
    if (kept !== undefined) localStorage.setItem(kept, dark ? "dark" : "light");
    name();
  });
  if (choice !== null) use();
  name();
  header.append(button);
}
