# Short names for what README.md and AGENTS.md describe.
.PHONY: check test demo regen debuggers

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

# Writes docs/DEBUGGERS.md, debugger × promise, from what the last run of the tests saw.
debuggers:
	.venv/bin/python tools/debuggers_page.py
