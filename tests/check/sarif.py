# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the parts of SARIF 2.1.0 that membar-check writes and that the schema requires or restricts."""

LEVELS = ("none", "note", "warning", "error")


def is_location(one):
    artifact, region = one["physicalLocation"]["artifactLocation"], one["physicalLocation"].get("region", {"startLine": 1})
    return (set(one) <= {"id", "physicalLocation", "message"} and set(artifact) <= {"uri", "uriBaseId"} and " " not in artifact["uri"]
            and region["startLine"] >= 1 and one.get("id", 0) >= 0 and isinstance(one.get("message", {"text": ""})["text"], str))


def is_valid(document, folder):
    """Returns whether a document has the structure of SARIF and its file names are relative to the command's working directory."""
    one, = document["runs"]
    rules = [rule["id"] for rule in one["tool"]["driver"]["rules"]]
    right = (set(document) == {"$schema", "version", "runs"} and document["version"] == "2.1.0"
             and one["tool"]["driver"]["name"] == "membar-check" and len(set(rules)) == len(rules) and one["columnKind"] == "unicodeCodePoints"
             and one["originalUriBaseIds"]["%SRCROOT%"]["uri"] == folder.resolve().as_uri() + "/"
             and all(isinstance(i["executionSuccessful"], bool) for i in one["invocations"]))
    for result in one["results"]:
        flows = [step for flow in result.get("codeFlows", []) for thread in flow["threadFlows"] for step in thread["locations"]]
        right = (right and rules[result["ruleIndex"]] == result["ruleId"] and result["level"] in LEVELS and bool(result["message"]["text"])
                 and all(map(is_location, result["locations"] + result.get("relatedLocations", []) + [step["location"] for step in flows]))
                 and all(step["importance"] in ("important", "essential", "unimportant") for step in flows))
    for told in one["invocations"][0]["toolExecutionNotifications"]:
        right = right and told["level"] in LEVELS and bool(told["message"]["text"]) and all(map(is_location, told["locations"]))
    return right
