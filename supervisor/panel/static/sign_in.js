// Takes the one-time code out of the address, so that neither history nor a shared link has it, and gives it in.
const code = location.hash.slice(1);
if (code) {
  history.replaceState(null, "", location.pathname);
  const form = document.getElementById("sign-in");
  if (form) {
    form.elements.code.value = decodeURIComponent(code);
    form.requestSubmit();
  }
}
