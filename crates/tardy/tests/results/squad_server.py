"""squad_server.py DIRECTORY TESTS METRICS METADATA: a SQUAD in this process, with a database below DIRECTORY; submits
the files with curl, as docs/how-to/test-systems.md does, and writes what the server stored to DIRECTORY/squad.json."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import types
import wsgiref.simple_server

directory, tests, metrics, metadata = map(pathlib.Path, sys.argv[1:])
os.environ.update(
    DATABASE=f"NAME={directory}/squad.sqlite3", SECRET_KEY="of a server that lives for seconds", ENV="production",
    DJANGO_SETTINGS_MODULE="squad.settings",
)
# It would download the scripts of its pages, which nobody looks at here.
sys.modules["squad.frontend.setup"] = types.ModuleType("setup")
sys.modules["squad.frontend.setup"].setup_staticfiles = lambda: None

import django  # noqa: E402

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection  # noqa: E402
from rest_framework.authtoken.models import Token  # noqa: E402
from squad.core.models import Group  # noqa: E402


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *words):
        pass


def read(server, token, what):
    url = f"http://127.0.0.1:{server.server_port}/api/{what}/?limit=10000"
    printed = subprocess.run(["curl", "--silent", "--fail", "--header", f"Auth-Token: {token}", url], capture_output=True)
    return json.loads(printed.stdout)["results"]


with connection.cursor() as cursor:
    # Its tables are made in hundreds of steps, none of which must survive a power cut.
    cursor.execute("PRAGMA synchronous = OFF")
call_command("migrate", verbosity=0)
Group.objects.create(slug="group").projects.create(slug="project")
user = User.objects.create(username="lab", is_superuser=True, is_staff=True)
token = Token.objects.create(user=user).key
server = wsgiref.simple_server.make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
submitted = subprocess.run(
    ["curl", "--silent", "--show-error", "--write-out", "\n%{http_code}", "--header", f"Auth-Token: {token}",
     "--form", f"tests=@{tests}", "--form", f"metrics=@{metrics}", "--form", f"metadata=@{metadata}",
     f"http://127.0.0.1:{server.server_port}/api/submit/group/project/build/board"],
    capture_output=True, text=True)
code = submitted.stdout.splitlines()[-1]
if code != "201":
    sys.exit(f"HTTP {code}: {submitted.stdout[:500]} {submitted.stderr}")
stored = {
    "code": int(code),
    "tests": {it["name"]: it["status"] for it in read(server, token, "tests")},
    "metrics": {it["name"]: [it["result"], it["unit"]] for it in read(server, token, "metrics")},
    "job_id": read(server, token, "testruns")[0]["job_id"],
}
(directory / "squad.json").write_text(json.dumps(stored))
