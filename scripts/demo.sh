#!/usr/bin/env bash
# First a real benchmark on bundled data, one task for each kind of problem: well-known methods, three folds.
# The time is divided among the runs. Then a virtual hour on eight tasks, with recorded losses and seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

cfo_bench=${CFO_BENCH:-.venv/bin/cfo-bench}
seconds=${DEMO_SECONDS:-75}
results=results/demo
tasks=(breast_cancer wine diabetes)
folds=3

# The paper's methods, widely used ones, and the references that scale the scores. With all methods, a run
# would have too little time to search.
wanted="cfo cfo-tuned cfo-0 rs gpei gpeips smac bohb tpe flaml-cfo blendsearch constant tuned-rf"
methods=$("$cfo_bench" methods --json | .venv/bin/python -c '
import json, sys
available = {method["name"] for method in json.load(sys.stdin) if method["available"]}
print(*[name for name in sys.argv[1:] if name in available])' $wanted)
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

# The second part needs the package of the tables.
tables=results/demo-tables
rm -rf "$tables"
if "$cfo_bench" learners --json | .venv/bin/python -c '
import json, sys
sys.exit(not any(row["name"] == "hpobench-mlp" and row["available"] for row in json.load(sys.stdin)))'; then
    quick=()
    for method in cfo cfo-tuned rs flaml-cfo; do
        if [[ " ${methods[*]} " == *" $method "* ]]; then quick+=(--method "$method"); fi
    done
    echo
    echo "demo: the same for a virtual hour, on eight recorded tasks (cfo-bench run tables has more methods)"
    "$cfo_bench" run tables "${quick[@]}" --jobs "$jobs" --results "$tables" --quiet
fi

folders=("$results")
if [[ -d $tables ]]; then folders+=("$tables"); fi
for folder in "${folders[@]}"; do
    echo
    "$cfo_bench" report "$folder"
done
echo
echo "demo: every trial is recorded in ${folders[*]}, in one file for each run: see docs/trace.md"
