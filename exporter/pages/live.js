// Renews the page every second: fetches it again and puts what has changed in the place of what was
// there. How the table is sorted and filtered stays as the reader chose.
"use strict";

// A word, as the server has it: it becomes part of a selector.
function askedColumn() {
    const asked = new URLSearchParams(location.search).get("sort");
    return asked && /^[a-z]+$/.test(asked) ? asked : null;
}

const chosen = {column: askedColumn(), ascending: false};
const filter = document.querySelector("#filter input");

// Of a recording: the time that is shown.
const slider = document.querySelector("#reel input");
const play = document.createElement("button");
let playing = false;
let renewal;

function namespaceOf(row) {
    return row.dataset.namespace;
}

// What is not known comes last, whichever way.
function compare(a, b) {
    if (Number.isNaN(a) || Number.isNaN(b)) {
        return Number.isNaN(a) - Number.isNaN(b);
    }
    return chosen.ascending ? a - b : b - a;
}

function keyOf(row) {
    if (chosen.column === "trouble") {
        return -Number(row.dataset.trouble);
    }
    const cell = row.querySelector(`td[data-sort="${chosen.column}"]`);
    return cell && cell.dataset.value !== undefined ? Number(cell.dataset.value) : NaN;
}

function sort(table, rows) {
    if (chosen.column === null) {
        return rows;
    }
    for (const link of table.querySelectorAll("thead a")) {
        const head = link.parentElement;
        head.removeAttribute("aria-sort");
        if (link.dataset.sort === chosen.column) {
            head.setAttribute("aria-sort", chosen.ascending ? "ascending" : "descending");
        }
    }
    return rows.map((row) => [keyOf(row), row])
        .sort((a, b) => compare(a[0], b[0]))
        .map(([, row]) => row);
}

// Rows that stay where they are are not touched: with hundreds of them, moving costs most.
function place(table, rows) {
    const body = table.tBodies[0];
    if (rows.length !== body.rows.length || rows.some((row, i) => row !== body.rows[i])) {
        body.replaceChildren(...rows);
    }
}

function copyAttributes(from, to) {
    for (const {name} of [...to.attributes]) {
        if (!from.hasAttribute(name) && name !== "hidden") {
            to.removeAttribute(name);
        }
    }
    for (const {name, value} of from.attributes) {
        if (to.getAttribute(name) !== value) {
            to.setAttribute(name, value);
        }
    }
}

function copyRow(from, to) {
    copyAttributes(from, to);
    for (let i = 0; i < from.cells.length; i++) {
        copyAttributes(from.cells[i], to.cells[i]);
        if (to.cells[i].textContent !== from.cells[i].textContent) {
            to.cells[i].textContent = from.cells[i].textContent;
        }
    }
}

function nameOf(row) {
    return row.cells[0].textContent;
}

// False: it has other columns now.
function takeTable(old, fresh) {
    if (old.tHead.textContent !== fresh.tHead.textContent) {
        return false;
    }
    const known = new Map([...old.tBodies[0].rows].map((row) => [nameOf(row), row]));
    const rows = [...fresh.tBodies[0].rows].map((row) => {
        const same = known.get(nameOf(row));
        if (!same) {
            return document.adoptNode(row);
        }
        known.delete(nameOf(row)); // a name may be there twice
        copyRow(row, same);
        return same;
    });
    place(old, sort(old, rows));
    return true;
}

function show(section) {
    const count = section.querySelector(".count");
    let shown = 0;
    for (const row of section.querySelector("table").tBodies[0].rows) {
        row.hidden = !namespaceOf(row).includes(filter.value);
        shown += !row.hidden;
    }
    count.textContent = `${shown} of ${count.dataset.total} containers`;
}

// How many there are, and how many of them are left out.
function takeCounts(old, fresh) {
    old.querySelector(".count").dataset.total = fresh.querySelector(".count").dataset.total;
    old.querySelector(".more")?.remove();
    const more = fresh.querySelector(".more");
    if (more) {
        old.append(document.adoptNode(more));
    }
}

// A selected text would be lost with its element.
function isInUse(element) {
    const selection = document.getSelection();
    return !selection.isCollapsed && element.contains(selection.anchorNode);
}

function take(page) {
    for (const old of document.querySelectorAll(".live")) {
        const fresh = page.getElementById(old.id);
        if (!fresh || isInUse(old) || old.outerHTML === fresh.outerHTML) {
            continue;
        }
        const table = old.id === "containers" && fresh.querySelector("table");
        if (table && takeTable(old.querySelector("table"), table)) {
            takeCounts(old, fresh);
            show(old);
            continue;
        }
        if (table) {
            place(table, sort(table, [...table.tBodies[0].rows]));
            show(fresh);
        }
        old.replaceWith(document.adoptNode(fresh));
    }
}

// The server chooses which rows it sends: of many containers, only the first in this order.
function address() {
    const query = new URLSearchParams();
    if (chosen.column) {
        query.set("sort", chosen.column);
    }
    if (filter.value) {
        query.set("namespace", filter.value);
    }
    if (slider) {
        query.set("at", slider.value);
    }
    const words = query.toString();
    return words ? `/?${words}` : "/";
}

// As in the page that the server makes.
function showTime() {
    const time = new Date(Number(slider.value) * 1000).toISOString().slice(11, 19);
    slider.form.querySelector("output").textContent = `${time} UTC`;
}

async function renew() {
    if (playing) {
        slider.value = Number(slider.value) + 1;
        setPlaying(slider.value !== slider.max);
        showTime();
    }
    try {
        const answer = await fetch(address(), {signal: AbortSignal.timeout(5000)});
        if (!answer.ok) {
            throw new Error(`status ${answer.status}`);
        }
        take(new DOMParser().parseFromString(await answer.text(), "text/html"));
        document.body.classList.remove("stale");
    } catch {
        document.body.classList.add("stale");
    }
    clearTimeout(renewal);
    renewal = setTimeout(renew, 1000);
}

function setPlaying(now) {
    playing = now;
    play.textContent = now ? "Pause" : "Play";
}

function goTo(seconds) {
    slider.value = seconds;
    showTime();
    clearTimeout(renewal);
    renewal = setTimeout(renew, 100); // it may go on moving
}

if (slider) {
    slider.form.querySelector("button").replaceWith(play);
    setPlaying(false);
    play.addEventListener("click", () => setPlaying(!playing));
    slider.addEventListener("input", () => goTo(slider.value));
    slider.form.addEventListener("submit", (event) => event.preventDefault());
    slider.form.addEventListener("click", (event) => {
        if (event.target.dataset.at) {
            event.preventDefault();
            goTo(event.target.dataset.at);
        }
    });
}

document.addEventListener("click", (event) => {
    const link = event.target.closest("thead a[data-sort]");
    if (!link) {
        return;
    }
    event.preventDefault();
    chosen.ascending = chosen.column === link.dataset.sort && !chosen.ascending;
    chosen.column = link.dataset.sort;
    const table = link.closest("table");
    place(table, sort(table, [...table.tBodies[0].rows]));
});
filter.form.addEventListener("submit", (event) => event.preventDefault());
filter.addEventListener("input", () => show(document.getElementById("containers")));
filter.form.querySelector("button").hidden = true;
renewal = setTimeout(renew, 1000);
