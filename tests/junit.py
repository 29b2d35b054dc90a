#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is a file what the JUnit schemas in use (that of the Ant task, that of Jenkins) ask for? usage: junit.py FILE"""
import re
import sys
import xml.etree.ElementTree as xml

suite = xml.parse(sys.argv[1]).getroot()
needed = {"testsuite": {"name", "tests", "failures", "errors", "time", "timestamp", "hostname"},
          "testcase": {"name", "classname", "time"}, "failure": {"type", "message"}}
order = "properties testcase system-out system-err".split()
assert suite.tag == "testsuite", suite.tag
places = [order.index(child.tag) for child in suite]
assert places == sorted(places), "elements out of order"
assert [child.tag for child in suite].count("system-out") == 1 and suite[-1].tag == "system-err"
cases = suite.findall("testcase")
for element in suite.iter():
    missing = needed.get(element.tag, set()) - set(element.keys())
    assert not missing, f"{element.tag} lacks {missing}"
    assert element.tag in needed or element.tag in order, element.tag
for case in cases:
    assert [child.tag for child in case] in ([], ["failure"])
    float(case.get("time"))
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp")), suite.get("timestamp")
assert int(suite.get("tests")) == len(cases)
assert int(suite.get("failures")) == sum(case.find("failure") is not None for case in cases)
