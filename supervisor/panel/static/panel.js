// The panel in the browser: what it is made of.
import { follow } from "./live.js";
import { listen as listenToActions } from "./actions.js";
import { listen as listenToKeys } from "./keys.js";
import { load } from "./parts.js";
import { keepTimes } from "./times.js";
import { listen as listenToTheme } from "./theme.js";

if (location.hash.length > 40) history.replaceState(null, "", location.pathname); // a link that signed in already
listenToTheme();
listenToActions();
listenToKeys();
keepTimes();
load();
if (document.body.dataset.live) follow(document.body.dataset.live);
