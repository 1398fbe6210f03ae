"""Markdown, as GitHub renders it: nothing that a machine said may become markup."""

import html.parser

import cmarkgfm

OURS = {"h2", "h3", "p", "strong", "em", "code", "table", "thead", "tbody", "tr", "th", "td"}


class Elements(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.said, self.tables = set(), "", 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.tables += tag == "table"

    def handle_data(self, data):
        self.said += data


def check(case, tools):
    page = Elements(cmarkgfm.github_flavored_markdown_to_html(case.text("markdown")))
    assert page.seen <= OURS, page.seen - OURS
    assert page.tables >= 2 * len(case.runs), f"{page.tables} tables of {len(case.runs)} runs"
    for word, outcome in (("PASS", "pass"), ("FAIL", "fail"), ("ERROR", "error")):
        assert (word in page.said) == (case.count(outcome) > 0), word
    return f"{page.tables} tables, no element but ours"
