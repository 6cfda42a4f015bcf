// The engine in a thread of its own, so that the page stays usable while it works.

let applied;
let version;

async function start(assets) {
  const { loadPyodide } = await import(`${assets}pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: assets });
  const response = await fetch(`${assets}engine.zip`);
  if (!response.ok) throw new Error(`engine.zip: ${response.status}`);
  pyodide.unpackArchive(await response.arrayBuffer(), "zip");
  applied = pyodide.runPython("from engine import applied\napplied");
  version = pyodide.runPython("import smp\nsmp.__version__");
}

self.addEventListener("message", async ({ data }) => {
  if (data.assets) {
    try {
      await start(data.assets);
      self.postMessage({ ready: true });
    } catch (error) {
      self.postMessage({ failed: `this build of the site is without it (${error.message})` });
    }
    return;
  }
  const before = performance.now();
  try {
    const answer = applied(data["last-applied"], data.live, data.manifest);
    const milliseconds = performance.now() - before;
    self.postMessage({ number: data.number, answer, milliseconds, version });
  } catch (error) {
    self.postMessage({ failed: error.message });
  }
});
