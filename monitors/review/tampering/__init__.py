"""Success that is faked: what has a test or a check pass though nothing was mended.

changes   changes to texts that the commands of a script make: by editors in place, and by what they write
evidence  reports and measurements that code writes by hand, and programs that stand in for those that test
removals  tests that a script takes away, or empties
signs     signs of a change to a text that takes from a test or a check, out of the knowledge
texts     texts of files that a call writes
"""
