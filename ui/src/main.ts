import "./styles/colours.css";
import "./styles/picture.css";
import "./styles/page.css";
import "./styles/live.css";

document.documentElement.classList.add("live");
