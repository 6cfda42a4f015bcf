// The search takes a dash before a word for "pages without it", and a reader who types an
// option means the option: --prune. The question goes to a worker, on its way there.
const send = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...others) {
  const isQuestion = typeof message?.data === "string";
  const data = isQuestion ? message.data.replace(/(^|\s)-+(?=\w)/g, "$1") : message?.data;
  send.call(this, isQuestion ? { ...message, data } : message, ...others);
};
