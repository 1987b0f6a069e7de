#!/usr/bin/env bash
# A real benchmark on bundled data, one task for each kind of problem: all methods that are installed,
# three folds. The budget of a run is what is left of the time when all of them have had their share.
set -euo pipefail
cd "$(dirname "$0")/.."

cfo_bench=${CFO_BENCH:-.venv/bin/cfo-bench}
seconds=${DEMO_SECONDS:-90}
results=results/demo
tasks=(breast_cancer wine diabetes)
folds=3

methods=$("$cfo_bench" methods --json | .venv/bin/python -c '
import json, sys
names = [method["name"] for method in json.load(sys.stdin) if method["available"]]
print(*[name for name in names if name != "study"])  # which goes through all values: no search, and endless')
read -ra methods <<< "$methods"
jobs=$(env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 2)  # which it would take for the number of cores
runs=$((${#tasks[@]} * ${#methods[@]} * folds))
# Less the third of a second in which a run starts. Between half a second and five: less is no search, and
# more shows nothing new on data this small.
budget=$(awk -v s="$seconds" -v j="$jobs" -v n="$runs" 'BEGIN { b = s * j / n - .3; if (b < .5) b = .5; if (b > 5) b = 5; printf "%.1f", b }')

echo "demo: ${#methods[@]} methods on ${tasks[*]}, $folds folds: $runs runs of $budget s, $jobs at a time"
rm -rf "$results"
arguments=()
for task in "${tasks[@]}"; do arguments+=(--task "$task"); done
for method in "${methods[@]}"; do arguments+=(--method "$method"); done
# The reference forest at its full size takes longer than a run of the demo.
if [[ " ${methods[*]} " == *" tuned-rf "* ]]; then
    arguments+=(--option tuned-rf.trees=20 --option tuned-rf.grid=2 --option tuned-rf.cv_folds=3)
fi
"$cfo_bench" run "${arguments[@]}" --budget "$budget" --folds "0-$((folds - 1))" --jobs "$jobs" --results "$results"

if "$cfo_bench" --help | grep '^  report ' > /dev/null; then
    echo
    "$cfo_bench" report "$results"
fi
echo
echo "demo: every trial of every run stands in $results, one file a run: see docs/trace.md"
