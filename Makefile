# Short names for what README.md and AGENTS.md describe.
.PHONY: check test demo regen

check:
	sh check.sh

test:
	.venv/bin/python -m pytest -q

demo:
	sh demo.sh

# Rewrites what is generated: protocol types, command reference, transcripts. A test fails when they
# are stale.
regen:
	.venv/bin/python tools/generate_dap_types.py
	.venv/bin/python tools/regen.py
	FREEZEFRAME_REWRITE_TRANSCRIPTS=1 .venv/bin/python -m pytest -q tests/test_docs.py -k transcript_shows
