#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures of profilers' traces by HolisticTraceAnalysis' own program: what tests/truth/traces.tsv holds, and what
`foretrain import kineto --figures` must equal.

usage: tools/hta-figures.py HTA-CHECKOUT TRACE.json[.gz]...

HTA (github.com/facebookresearch/HolisticTraceAnalysis, MIT) needs pandas, plotly, networkx and psutil. Its rounding of
times to whole microseconds is switched off, since traces have had nanoseconds since 2024."""
import logging
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)


def figures(analysis):
    row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    times = [row[f"{name}_time(us)"] for name in ("kernel", "compute", "non_compute", "idle")]
    overlap = analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]
    return [f"{time:.3f}" for time in times] + ["none" if overlap != overlap else f"{overlap:.2f}"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.path.insert(0, sys.argv[1])
    from hta.trace_analysis import TraceAnalysis

    for path in sys.argv[2:]:
        print("\t".join([os.path.basename(path)] + figures(TraceAnalysis(trace_files={0: os.path.abspath(path)}))))


main()
