
"use strict";
(() => {
  const articles = [...document.querySelectorAll("article")];
  const search = document.getElementById("search");
  const filter = document.getElementById("filter");
  const all = document.getElementById("all");
  const status = document.getElementById("status");
  const texts = new Map();
  for (const part of document.querySelectorAll(".scripted")) part.hidden = false;

  const textOf = (article) => {
    if (!texts.has(article)) {
      const titles = [...article.querySelectorAll("th[title]")].map((row) => row.title);
      texts.set(article, `${article.textContent} ${titles.join(" ")}`.toLowerCase());
    }
    return texts.get(article);
  };
  const shown = () => articles.filter((article) => !article.hidden);
  const select = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [name, value] = filter.value.split(":");
    for (const article of articles) {
      const fits = !name || article.dataset[name] === value;
      article.hidden = !(fits && words.every((word) => textOf(article).includes(word)));
    }
    const isAll = !words.length && !name;
    status.textContent = isAll ? "" : `${shown().length} of ${articles.length} objects`;
  };
  const go = (distance) => {
    const among = shown();
    const current = among.indexOf(document.activeElement.closest("article"));
    const next = among[current < 0 ? (distance > 0 ? 0 : among.length - 1) : current + distance];
    if (next) {
      next.querySelector("summary").focus();
      next.scrollIntoView({ block: "nearest" });
    }
  };
  const foldAll = (isOpen) => {
    for (const article of shown()) article.firstElementChild.open = isOpen;
  };
  const toTarget = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "ARTICLE") {
      target.firstElementChild.open = true;
      target.querySelector("summary").focus();
    }
  };
  let waiting;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(select, 120);
  });
  filter.addEventListener("change", select);
  document.getElementById("unfold").addEventListener("click", () => foldAll(true));
  document.getElementById("fold").addEventListener("click", () => foldAll(false));
  addEventListener("hashchange", toTarget);
  toTarget();
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target !== all;
    if (isTyping) {
      if (event.key === "Escape") {
        search.value = "";
        select();
        event.target.blur();
      }
      return;
    }
    if (event.key === "/") search.focus();
    else if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "e") all.checked = !all.checked;
    else if (event.key === "o") {
      const article = document.activeElement.closest("article");
      if (!article) return;
      article.firstElementChild.open = !article.firstElementChild.open;
    } else return;
    event.preventDefault();
  });
})();
