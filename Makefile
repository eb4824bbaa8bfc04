# `make lab` opens the handbook, `make test` proves it. What they do is in tools/.
python = .venv/bin/python
benchmarks = mask imports slider generation attention linear rows
experiments = g2p key_last modes adaptation

.PHONY: lab test test-all chapters classroom book epub pdf bench experiments

lab: .venv/read.stamp
	@$(python) tools/lab.py $(LAB_OPTIONS)

test: .venv/test.stamp
	@$(python) tools/run_tests.py

test-all: .venv/test.stamp
	@$(python) tools/run_tests.py --all

chapters: .venv/test.stamp
	@$(python) tools/run_chapters.py

classroom: .venv/classroom.stamp
	@$(python) tools/build_classroom.py

book: .venv/book.stamp
	@$(python) tools/build_book.py

epub: .venv/book.stamp
	@$(python) tools/build_epub.py

pdf: .venv/book.stamp
	@$(python) tools/build_pdf.py

bench: .venv/test.stamp
	@set -e; for name in $(benchmarks); do echo "== $$name"; $(python) benchmarks/$$name.py; done

experiments: .venv/read.stamp
	@set -e; for name in $(experiments); do echo "== $$name"; $(python) experiments/$$name.py; done

.venv/%.stamp: pyproject.toml requirements.lock tools/install.sh
	@PYTHON="$(PYTHON)" TORCH_INDEX="$(TORCH_INDEX)" sh tools/install.sh $*
	@touch $@
