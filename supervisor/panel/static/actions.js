// Buttons and dialogs: each sends one request, with the session's token, and says what came of it.

import { isSettling } from "./settling.js";

const token = document.querySelector('meta[name="token"]')?.content ?? "";

export async function post(path, body) {
  const headers = { "content-type": "application/json", "x-chaperon-token": token };
  try {
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return { ok: answer.ok, told: await answer.json() };
  } catch (error) {
    return { ok: false, told: { what: `The panel does not answer (${error.message}).`, way_out: "Whether it was done is not known: look at the board." } };
  }
}

export function listen() {
  sayAgain();
  openByAddress();
  addEventListener("hashchange", openByAddress);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ((button.dataset.post || button.dataset.dialog) && isSettling(button, event.detail > 0)) {
      toast("This came just now: look at it, and press again.", false);
    } else if (button.dataset.post) press(button);
    else if (button.dataset.dialog) openDialog(button);
    else if (button.hasAttribute("data-close")) button.closest("dialog").close();
    else if (button.hasAttribute("data-help")) document.getElementById("keys").showModal();
  });
  document.addEventListener("submit", (event) => {
    if (event.target.dataset.form) {
      event.preventDefault();
      submit(event.target, event.target.dataset.form, {});
      return;
    }
    const dialog = event.target.closest("dialog[data-target]");
    if (!dialog || event.target.method !== "dialog") return;
    event.preventDefault();
    send(dialog, event.target);
  });
}

async function press(button) {
  button.disabled = true;
  const { ok, told } = await post(button.dataset.post, JSON.parse(button.dataset.body || "{}"));
  button.disabled = false;
  toast(ok ? told.says : sentence(told), ok);
  if (ok) arrive(told);
}

// An address may name the dialog that it is about: the plan of a rollback that is proposed elsewhere.
function openByAddress() {
  const name = location.hash.slice(1);
  const button = name ? document.querySelector(`button[data-opened-by="${CSS.escape(name)}"]`) : null;
  if (button?.checkVisibility() && !document.querySelector("dialog[open]")) openDialog(button);
}

function openDialog(button) {
  const dialog = document.getElementById(`dialog-${button.dataset.dialog}`);
  const form = dialog.querySelector("form");
  form.reset();
  dialog.querySelector(".error").hidden = true;
  dialog.querySelector("h2").textContent = button.dataset.title;
  const question = dialog.querySelector("[data-question]");
  if (question) question.textContent = button.dataset.question ?? "";
  dialog.dataset.target = button.dataset.target;
  dialog.dataset.body = button.dataset.body ?? "{}";
  dialog.showModal();
  form.querySelector("textarea, input:not([type=checkbox], [type=hidden])")?.focus();
}

async function send(dialog, form) {
  const progress = form.querySelector(".progress");
  const looking = progress ? setInterval(() => lookAtWork(progress), 500) : 0;
  await submit(form, dialog.dataset.target, JSON.parse(dialog.dataset.body), () => dialog.close());
  clearInterval(looking);
  if (progress) progress.textContent = "";
}

// What the daemon says of how far it is, while the answer of a dialog is waited for.
async function lookAtWork(place) {
  try {
    const answer = await fetch("/work");
    if (answer.ok) place.textContent = (await answer.json()).says;
  } catch {
    // The answer of the dialog itself says what is wrong.
  }
}

async function submit(form, target, body, close = () => {}) {
  const given = Object.fromEntries(new FormData(form));
  for (const box of form.querySelectorAll("input[type=checkbox]")) given[box.name] = box.checked;
  const button = form.querySelector("[type=submit]");
  button.disabled = true;
  const { ok, told } = await post(target, { ...body, ...given });
  button.disabled = false;
  if (ok) {
    close();
    toast(told.says, true);
    arrive(told);
  } else {
    const place = form.querySelector(".error");
    place.textContent = sentence(told);
    place.hidden = false;
  }
}

// What was said is said again on the page that it leads to: the toast of this one goes with it.
function arrive(told) {
  if (!told.go) return;
  sessionStorage.setItem("says", told.says);
  location.assign(told.go);
}

function sayAgain() {
  const says = sessionStorage.getItem("says");
  sessionStorage.removeItem("says");
  if (says) toast(says, true);
}

function sentence(told) {
  return [told.what, told.way_out].filter(Boolean).join(" ");
}

let fading;
export function toast(text, ok) {
  const place = document.getElementById("toast");
  place.textContent = text;
  place.className = ok ? "shown" : "shown bad";
  clearTimeout(fading);
  fading = setTimeout(() => (place.className = ""), ok ? 4000 : 12000);
}
