// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes search work without a server. A page that was opened as a file must not start a worker, so the worker's script runs in a hidden
// frame. The theme's search script looks for such frames under the name IFrameWorker.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const inner = frame.contentWindow;
    inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
    inner.importScripts = (...urls) => urls.reduce((before, each) => before.then(() => this.load(each)), Promise.resolve());
    this.inner = inner;
    this.ready = this.load(url);
  }
  load(url) {
    return new Promise((done, failed) => {
      const script = this.inner.document.createElement("script");
      script.src = new URL(url, document.baseURI);
      script.onload = done;
      script.onerror = failed;
      this.inner.document.body.append(script);
    });
  }
  postMessage(data) {
    this.ready.then(() => this.inner.dispatchEvent(new this.inner.MessageEvent("message", {data})));
  }
  terminate() {}
}
if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
