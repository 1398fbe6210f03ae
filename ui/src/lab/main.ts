/** Adds pictures and sorting to the pages of `tardy serve`. Every figure is in the page before the script runs. */
import "../styles/colours.css";
import "../styles/picture.css";
import "../styles/page.css";
import "../styles/live.css";
import "./lab.css";
import { schemeButton } from "../scheme";

schemeButton();
