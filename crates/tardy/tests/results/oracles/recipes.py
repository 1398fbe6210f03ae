"""The recipes of docs/how-to/test-systems.md, by schemas and parsers of those who will read them."""

import functools
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

from oracles import lava

DOCUMENT = pathlib.Path(__file__).parents[5] / "docs/how-to/test-systems.md"


@functools.cache
def blocks():
    """The code blocks by their heading: a list of (language, text)."""
    found, heading = {}, ""
    lines = iter(DOCUMENT.read_text().splitlines())
    for line in lines:
        if line.startswith("#"):
            heading = line.strip("# ")
        elif line.startswith("```"):
            inside = []
            while (inner := next(lines)) != "```":
                inside.append(inner)
            found.setdefault(heading, []).append((line.strip("`"), "\n".join(inside) + "\n"))
    return found


def recipe(heading, language):
    texts = [text for written, text in blocks().get(heading, []) if written == language]
    assert len(texts) == 1, f"{len(texts)} blocks of {language or 'text'} below {heading}"
    return texts[0]


def jenkins(tools):
    from groovy_parser.parser import parse_groovy_content

    text = recipe("Jenkins", "groovy")
    parse_groovy_content(text)
    commands = re.findall(r"\bsh '([^']*)'", text)
    shell(commands)
    return f"Groovy; {len(commands)} commands are shell"


def schema(name, text):
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        file.write(text)
        file.flush()
        program = pathlib.Path(sys.executable).parent / "check-jsonschema"
        ended = subprocess.run([program, "--builtin-schema", name, file.name], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


def gitlab(tools):
    text = recipe("GitLab", "yaml")
    schema("vendor.gitlab-ci", text)
    jobs = yaml.safe_load(text)
    commands = [line for job in jobs.values() for part in ("before_script", "script") for line in job.get(part, [])]
    shell(commands)
    return f"valid by its schema; {len(commands)} commands are shell"


def github(tools):
    text = recipe("GitHub", "yaml")
    schema("vendor.github-workflows", text)
    jobs = yaml.safe_load(text)["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    shell(commands)
    return f"valid by its schema; {len(commands)} commands are shell"


def lava_job(tools):
    lava.packages(tools)
    import lava_common.schemas

    job = yaml.safe_load(recipe("LAVA", "yaml"))
    lava_common.schemas.validate(job, strict=True)
    tests = [action["test"] for action in job["actions"] if "test" in action]
    steps = [step for it in tests for of in it["definitions"] for step in of["repository"]["run"]["steps"]]
    shell(steps)
    return f"a valid job by its schema; {len(steps)} steps are shell"


def labgrid(tools):
    compile(recipe("labgrid", "python"), "recipe", "exec")
    yaml.safe_load(recipe("labgrid", "yaml"))
    return "Python and YAML"


def others(tools):
    shell([text for heading in ("git bisect", "SQUAD") for _, text in blocks()[heading]])
    return "shell"


def shell(commands):
    for command in commands:
        ended = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True)
        assert ended.returncode == 0, f"{command}: {ended.stderr}"


CHECKS = {
    "Jenkins": jenkins, "GitLab": gitlab, "GitHub": github, "LAVA": lava_job, "labgrid": labgrid,
    "git bisect, SQUAD": others,
}
