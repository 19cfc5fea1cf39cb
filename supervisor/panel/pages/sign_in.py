"""The pages of those who have no session: where the one-time code goes, and where a link from elsewhere leads."""

import htpy as h

from supervisor.panel.pages.parts import rendered


def sign_in_page(problem: str = "") -> str:
    """The page that takes a one-time code; `static/sign_in.js` fills it in from the link."""
    return rendered(
        _bare(
            "Sign in",
            h.h1["Sign in"],
            h.p[
                "Open the link that ",
                h.code["chaperon panel"],
                " printed, or give the code at its end. It is good once.",
            ],
            h.p(class_="error", role="alert")[problem] if problem else None,
            h.form(id="sign-in", method="post", action="/sign-in")[
                h.label["Code", h.input(name="code", required=True, autocomplete="off", autofocus=True)],
                h.div(class_="buttons")[h.button(type="submit", class_="main")["Sign in"]],
            ],
            h.p["Press Enter where ", h.code["chaperon panel"], " runs, for another link."],
        )
    )


def elsewhere_page(target: str) -> str:
    """The page for those who followed a link of another site: the browser sends our cookie only from here on."""
    return rendered(
        _bare("Go on", h.h1["You come from another site"], h.p[h.a(href=target, class_="main")["Go on to the panel"]])
    )


def _bare(title: str, *content: h.Node) -> h.Element:
    return h.html(lang="en")[
        h.head[
            h.meta(charset="utf-8"),
            h.meta(name="viewport", content="width=device-width, initial-scale=1"),
            h.meta(name="color-scheme", content="light dark"),
            h.title[f"{title} · chaperon"],
            h.link(rel="icon", href="/static/icon.svg", type="image/svg+xml"),
            h.link(rel="stylesheet", href="/static/panel.css"),
            h.script(type="module", src="/static/sign_in.js"),
        ],
        h.body(class_="bare")[h.main(id="main")[content]],
    ]
