"""The tests of `reducer`; `README.md` beside this file says which kind goes where."""
