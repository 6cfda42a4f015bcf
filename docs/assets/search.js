// What a reader types goes to a worker, which takes each word for the beginning of others,
// a dash before it for "pages without it", and what is quoted for words that must be
// there, also those that it leaves out itself. A pasted message or an option means none of
// that: articles, dashes and quotes are left out on the way.
const send = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...others) {
  if (typeof message?.data === "string") {
    const typed = message.data.replaceAll('"', " ").trim().split(/\s+/);
    const words = typed.map((word) => word.replace(/^-+(?=\w)/, ""));
    const meant = words.filter((word) => !/^an?$/i.test(word));
    message = { ...message, data: (meant.length ? meant : words).join(" ") };
  }
  send.call(this, message, ...others);
};
