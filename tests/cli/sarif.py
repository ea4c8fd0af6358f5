"""What SARIF 2.1.0 (OASIS, sections 3.13 to 3.38) asks of the objects that Heddle writes.

SHAPES has the properties of each object that may be there, with their types; those with a `!` must be. A type is
a Python type, a set of words, the name of another shape, [type] for a list, or a function that looks at the value.
"""
import re

URI = re.compile(r"(?:[A-Za-z0-9\-._~/+@:!$&'()*,;=]|%[0-9A-F]{2})+\Z")
LEVELS = {"none", "note", "warning", "error"}


def uri(value):
    return isinstance(value, str) and URI.match(value) is not None


def positive(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def filled(value):
    return isinstance(value, list) and len(value) > 0


def words(value):
    return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())


def bases(value):
    return isinstance(value, dict) and all(not list(problems(v, "artifactLocation", "base")) for v in value.values())


SHAPES = {
    "log": {"$schema": uri, "version!": {"2.1.0"}, "runs!": ["run"]},
    "run": {"tool!": "tool", "automationDetails": "automation", "invocations": ["invocation"], "originalUriBaseIds": bases,
            "results": ["result"], "properties": dict},
    "automation": {"id!": str},
    "tool": {"driver!": "driver"},
    "driver": {"name!": str, "version": str, "rules": ["rule"]},
    "rule": {"id!": str, "shortDescription": "message", "defaultConfiguration": "configuration"},
    "configuration": {"level": LEVELS},
    "message": {"text!": str},
    "invocation": {"executionSuccessful!": bool, "workingDirectory": "artifactLocation",
                   "toolExecutionNotifications": ["notification"]},
    "notification": {"message!": "message", "level": LEVELS},
    "result": {"ruleId": str, "ruleIndex": count, "level": LEVELS, "message!": "message", "locations": ["location"],
               "relatedLocations": ["location"], "stacks": ["stack"], "codeFlows": ["codeFlow"],
               "partialFingerprints": words, "properties": dict},
    "location": {"id": count, "physicalLocation": "physicalLocation", "logicalLocations": ["logicalLocation"],
                 "message": "message"},
    "physicalLocation": {"artifactLocation": "artifactLocation", "region": "region", "address": "address"},
    "address": {"absoluteAddress": count},
    "artifactLocation": {"uri": uri, "uriBaseId": str},
    "region": {"startLine": positive, "startColumn": positive, "snippet": "message"},
    "logicalLocation": {"fullyQualifiedName": str, "kind": str},
    "stack": {"message": "message", "frames!": ["frame"]},
    "frame": {"location": "location"},
    "codeFlow": {"message": "message", "threadFlows!": ["threadFlow"], "threadFlows": filled},
    "threadFlow": {"id": str, "locations!": ["step"], "locations": filled},
    "step": {"location": "location", "executionOrder": count, "importance": {"important", "essential", "unimportant"}},
}


def problems(value, kind, where):
    """What is wrong with `value`, which should be of this kind: lines."""
    if isinstance(kind, str):
        shape = SHAPES[kind]
        if not isinstance(value, dict):
            yield "%s is no object" % where
            return
        known = {name.rstrip("!") for name in shape}
        for name in value:
            if name not in known:
                yield "%s.%s is unknown" % (where, name)
        for name, inner in shape.items():
            bare = name.rstrip("!")
            if bare in value:
                yield from problems(value[bare], inner, "%s.%s" % (where, bare))
            elif name != bare:
                yield "%s.%s is missing" % (where, bare)
        if kind == "physicalLocation" and not {"artifactLocation", "address"} & set(value):
            yield where + " names neither a file nor an address"
    elif isinstance(kind, list):
        if not isinstance(value, list):
            yield "%s is no list" % where
            return
        for i, item in enumerate(value):
            yield from problems(item, kind[0], "%s[%d]" % (where, i))
    elif isinstance(kind, set):
        if value not in kind:
            yield "%s is %r" % (where, value)
    elif isinstance(kind, type):
        if not isinstance(value, kind):
            yield "%s is %r, no %s" % (where, value, kind.__name__)
    elif not kind(value):
        yield "%s is not right: %r" % (where, value)


def check_log(log):
    """All that is wrong with a SARIF log, also between its parts: a list."""
    found = list(problems(log, "log", "log"))
    if found:
        return found
    for run in log["runs"]:
        rules = run["tool"]["driver"]["rules"]
        if len({r["id"] for r in rules}) != len(rules):
            found.append("two rules have one id")
        for base in run["originalUriBaseIds"].values():
            if not base["uri"].endswith("/"):
                found.append("a base that is no folder: " + base["uri"])
        for result in run["results"]:
            if rules[result["ruleIndex"]]["id"] != result["ruleId"]:
                found.append("ruleIndex and ruleId name different rules")
            ids = [r["id"] for r in result["relatedLocations"]]
            if len(set(ids)) != len(ids):
                found.append("two related locations have one id")
            for where in locations(result):
                artifact = where["physicalLocation"].get("artifactLocation", {})
                relative = "uriBaseId" in artifact
                if relative and artifact["uriBaseId"] not in run["originalUriBaseIds"]:
                    found.append("uriBaseId of nothing: " + artifact["uriBaseId"])
                if "uri" in artifact and relative == artifact["uri"].startswith("file:"):
                    found.append("neither absolute nor relative: " + artifact["uri"])
            for flow in result.get("codeFlows", []):
                order = [s["executionOrder"] for t in flow["threadFlows"] for s in t["locations"]]
                if sorted(order) != list(range(1, len(order) + 1)):
                    found.append("steps out of order: %s" % order)
                for thread in flow["threadFlows"]:
                    steps = [s["executionOrder"] for s in thread["locations"]]
                    if steps != sorted(steps):
                        found.append("steps of %s out of order" % thread["id"])
    return found


def locations(value):
    """Every location with a physical one, wherever it is."""
    if isinstance(value, dict):
        if "physicalLocation" in value:
            yield value
        for inner in value.values():
            yield from locations(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from locations(inner)
