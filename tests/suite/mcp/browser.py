#!/usr/bin/env python3
"""A person with a browser. Started as `xdg-open FILE`, with a page that leads to a login; or with that address itself.

She logs in wherever a page asks, and agrees. DOES says what else she does: `deny` is to cancel, `other` to bring the answer of
another login first, and `stop` to go as far as the answer and to print its address in place of bringing it."""
import http.cookiejar
import html
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

DOES = os.environ.get("DOES", "")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirect, urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))


def go(address, form=None):
    """The page at an address: its address, or that of the page that it leads to, and its text."""
    try:
        with opener.open(address, urllib.parse.urlencode(form).encode() if form else None, timeout=30) as page:
            return None, page.read().decode()
    except urllib.error.HTTPError as answer:
        to = answer.headers.get("Location")
        if answer.code in (301, 302, 303, 307, 308) and to:
            return urllib.parse.urljoin(address, to), ""
        return None, answer.read().decode()


def read_address(named):
    """The address to go to."""
    if "://" in named:
        return named
    with open(named, encoding="utf-8") as page:
        return html.unescape(re.search(r'url=([^"]*)"', page.read()).group(1))


def bring(answer):
    """Brings the answer to who waits for it."""
    if DOES == "stop":
        print(answer, flush=True)
        return
    go(urllib.parse.urljoin(answer, "/favicon.ico"))
    if DOES == "other":
        go(re.sub("state=[^&]*", "state=of-another", answer))
        time.sleep(0.2)
    _, page = go(answer)
    assert "The answer has come" in page, page


def main():
    address, form = read_address(sys.argv[1]), None
    for _ in range(20):
        if "/callback?" in address:
            return bring(address)
        to, page = go(address, form)
        form = None
        if to:
            address = to
        elif DOES == "deny" and (cancel := re.search(r'href="([^"]*/abort)"', page)):
            address = urllib.parse.urljoin(address, cancel.group(1))
        elif target := re.search(r'<form[^>]*action="([^"]*)"', page):
            form = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', page))
            form.update({"login": "ada", "password": "x"} if "login" in page.lower() and 'name="login"' in page else {})
            address = urllib.parse.urljoin(address, target.group(1))
        else:
            sys.exit(f"a page without a way on: {page[:2000]}")
    sys.exit("no answer after 20 pages")


main()
