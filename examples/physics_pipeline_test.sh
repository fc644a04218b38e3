#!/bin/bash
# A small run of the physics pipeline: equal bits with any number of workers, whole frames, trace files.
set -euo pipefail
folder=${TEST_TMPDIR:-$(mktemp -d)}
for workers in 0 1 2 4; do
	"$1" --worlds 5 --bodies 12 --frames 40 --ahead 3 --workers "$workers" --hold-ms 1 --monitor-ms 2 \
		--rounds 1 --out "$folder"
	head -c 1 "$folder/physics_pipeline.json" | grep -q '[[{]'
	grep -q '<svg' "$folder/physics_pipeline.svg"
done
