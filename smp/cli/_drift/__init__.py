"""What ``smp drift`` does, one module for each step of a run.

The modules, in the order of a run: sides.py (what is compared with what), files.py,
clusters.py, parquet.py and parsing.py (where objects come from), documents.py (which of
a file are known), records.py and pairs.py (which belong together), reading.py and
comparing.py (spread over all cores), gaps.py (what could not be read), history.py
(commits), state.py and increments.py (what the last run found), output.py and brief.py
(what is printed), telling.py (what the user is told beside it).
"""
