"""Host apps that do to every request and response what real ones do: a table of changes to an app."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import flask
from flask import Flask, abort, redirect, request, session
from flask_compress import Compress
from flask_wtf import CSRFProtect
from werkzeug.middleware.proxy_fix import ProxyFix

Hostile = Callable[[Flask], None]
HOSTILE: dict[str, Hostile] = {}


def hostile(change: Hostile) -> Hostile:
    HOSTILE[change.__name__.replace("_", " ")] = change
    return change


@hostile
def a_plain_app(app: Flask) -> None:
    pass


@hostile
def a_login_guard(app: Flask) -> None:
    app.before_request(lambda: redirect("/login"))


@hostile
def a_guard_that_aborts(app: Flask) -> None:
    app.before_request(lambda: abort(401))


@hostile
def a_csrf_protection(app: Flask) -> None:
    app.secret_key = "host"
    CSRFProtect(app)


@hostile
def a_catch_all(app: Flask) -> None:
    app.add_url_rule("/<path:rest>", "all", lambda rest: f"<p>{rest}", methods=["GET", "POST", "DELETE"])


@hostile
def a_catch_all_in_a_blueprint_that_handles_everything(app: Flask) -> None:
    everything = flask.Blueprint("everything", __name__)
    everything.add_url_rule("/<path:rest>", "all", lambda rest: rest, methods=["GET", "POST", "DELETE"])
    everything.register_error_handler(Exception, lambda _error: ("<p>caught", 500))
    everything.before_request(lambda: redirect("/login"))
    everything.after_request(lambda _response: flask.Response("replaced", 418))
    app.register_blueprint(everything)


@hostile
def handlers_of_every_error(app: Flask) -> None:
    for error in (404, 405, 422, 500, Exception):
        app.register_error_handler(error, lambda _error: ("<p>handled", 200))


@hostile
def trapped_exceptions(app: Flask) -> None:
    app.config.update(TRAP_HTTP_EXCEPTIONS=True, TRAP_BAD_REQUEST_ERRORS=True, PROPAGATE_EXCEPTIONS=True)


@hostile
def exceptions_that_do_not_propagate(app: Flask) -> None:
    app.config.update(PROPAGATE_EXCEPTIONS=False)


@hostile
def an_error_router(app: Flask) -> None:
    """As Flask-RESTful replaces it."""
    app.handle_user_exception = lambda _error: app.make_response(("routed", 500))  # type: ignore[method-assign,assignment]


@hostile
def an_error_router_that_raises(app: Flask) -> None:
    def route(error: Exception) -> Any:
        raise error

    app.handle_user_exception = route  # type: ignore[method-assign,assignment]


@hostile
def headers_for_every_response(app: Flask) -> None:
    @app.after_request
    def change(response: flask.Response) -> flask.Response:
        response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Cache-Control"] = "public, max-age=3600"
        response.headers["Content-Type"] = "text/html"
        response.set_cookie("tracking", "1")
        response.headers.add("Set-Cookie", "sneaky=1")
        return response


@hostile
def another_body_and_status_for_every_response(app: Flask) -> None:
    @app.after_request
    def change(response: flask.Response) -> flask.Response:
        data = response.get_data()
        response.set_data(json.dumps({"wrapped": data.decode()}))
        response.add_etag()
        response.status_code = 299
        return response


@hostile
def another_response_for_every_response(app: Flask) -> None:
    app.after_request(lambda _response: flask.Response("<p>replaced", 418))


@hostile
def an_after_request_that_reads_json(app: Flask) -> None:
    @app.after_request
    def read(response: flask.Response) -> flask.Response:
        if response.is_json:
            response.get_json()["seen"] = True
        return response


@hostile
def an_after_request_that_fails(app: Flask) -> None:
    @app.after_request
    def fail(response: flask.Response) -> flask.Response:
        raise LookupError(request.endpoint)


@hostile
def a_teardown_that_fails(app: Flask) -> None:
    @app.teardown_request
    def fail(_error: BaseException | None) -> None:
        raise LookupError("no start time")


@hostile
def compression(app: Flask) -> None:
    app.config["COMPRESS_MIN_SIZE"] = 1
    Compress(app)


@hostile
def a_response_class_of_its_own(app: Flask) -> None:
    class Json(flask.Response):
        default_mimetype = "application/x-host"
        charset = "latin-1"

    app.response_class = Json


@hostile
def url_processors(app: Flask) -> None:
    app.url_value_preprocessor(lambda _endpoint, values: values.pop("lang"))
    app.url_defaults(lambda _endpoint, values: values.setdefault("lang", "en"))


@hostile
def host_matching(app: Flask) -> None:
    app.url_map.host_matching = True
    app.add_url_rule("/only", "only", lambda: "<p>", host="shop.example")


@hostile
def a_server_name_and_subdomains(app: Flask) -> None:
    app.config["SERVER_NAME"] = "shop.example:5000"
    app.subdomain_matching = True


@hostile
def trusted_hosts(app: Flask) -> None:
    app.config["TRUSTED_HOSTS"] = ["shop.example"]


@hostile
def a_session_for_everybody(app: Flask) -> None:
    app.secret_key = "host"
    app.config["SESSION_REFRESH_EACH_REQUEST"] = True

    @app.after_request
    def remember(response: flask.Response) -> flask.Response:
        session.permanent = True
        session["seen"] = True
        return response


@hostile
def a_session_store_that_is_down(app: Flask) -> None:
    class Down(flask.sessions.SessionInterface):
        def open_session(self, app: Flask, request: flask.Request) -> Any:
            raise ConnectionError("no such server")

    app.session_interface = Down()


@hostile
def a_receiver_that_expects_its_start(app: Flask) -> None:
    def finished(_app: Flask, **_: Any) -> None:
        raise KeyError("started")

    flask.request_finished.connect(finished, app)
    app.extensions["keep"] = finished


@hostile
def a_receiver_that_fails(app: Flask) -> None:
    def started(_app: Flask, **_: Any) -> None:
        raise KeyError("no")

    flask.request_started.connect(started, app)
    app.extensions["keep"] = started


@hostile
def proxy_fix(app: Flask) -> None:
    app.wsgi_app = ProxyFix(app.wsgi_app)  # type: ignore[method-assign]


@hostile
def an_async_guard(app: Flask) -> None:
    @app.before_request
    async def guard() -> Any:
        return redirect("/login")


@hostile
def a_body_limit(app: Flask) -> None:
    app.config["MAX_CONTENT_LENGTH"] = 1
