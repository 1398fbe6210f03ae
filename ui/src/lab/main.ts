/** Adds reading by pointer and keys, and a filter, to the pages of `tardy lab serve`. Every figure is in the page without it. */
import "../styles/colours.css";
import "../styles/picture.css";
import "../styles/page.css";
import "../styles/live.css";
import "./lab.css";
import { schemeButton } from "../scheme";
import { again } from "./again";
import { desk } from "./desk";
import { fleetFilter } from "./filter";
import { columns } from "./columns";
import { live } from "./live";
import { scrollers } from "../scrollers";

schemeButton("tardy-scheme");
scrollers();
live();
desk();

/** What a script adds to the content of a page. */
function enhance(): void {
  fleetFilter();
  for (const figure of document.querySelectorAll<HTMLElement>("figure[data-picture=heat]")) columns(figure);
}

enhance();
again(enhance);
