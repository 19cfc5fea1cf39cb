"""Names by which a database, an environment or a host says that it is for tests or development, or that it is in use.

One notion for the words of programs, statements of stores, and fields of tools.
"""

import re

TRIAL = re.compile(
    r"(?:^|[\s_/=:@${-]|(?<!/)\.)(?:tests?|testing|dev|devel|development|local|localhost|127\.0\.0\.1|ci|sandbox|e2e|scratch|tmp|temp|demo|integration)\d{0,4}(?=$|[\s._/:@-])"
    r"|\b(?-i:Test|Dev|Local)(?=[A-Z])|(?<=[a-z])(?-i:Tests?|Testing|Dev|E2[Ee])\d{0,4}(?=$|[A-Z\s._/:@-])|(?<=\w[_-])it(?=[_./-]\w)",
    re.IGNORECASE,
)
"""A name of tests or development among others, with a number behind it or without: `app_test_18`, `appTest`, `dev2`."""
IN_USE = re.compile(
    r"(?:^|[\s._/=:@-])(?:prod|production|live|staging|stage|main|master|release)(?=$|[\s._/:@-])", re.IGNORECASE
)
"""A name of what others use, or of what is to be that."""

_OF_THIS_MACHINE = r"(?:(?:kind|k3d)-[\w-]{1,80}|minikube|microk8s|docker-desktop|rancher-desktop|orbstack|colima)"
LOCAL_CONTEXT = re.compile(rf"--(?:kube-)?context[ =]{_OF_THIS_MACHINE}(?=\s|\Z)")
"""How a call of `kubectl` or `helm` names a cluster that runs on this machine, for development."""
AT_HAND = re.compile(rf"(?:{_OF_THIS_MACHINE}|emulator-\d{{1,5}})\Z")
"""A name of such a cluster, or of a telephone that is a program of this machine."""
