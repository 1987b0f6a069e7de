// Browsers start no web worker for a page that is opened from the disk. The search is one: it runs in a frame
// instead. Its script looks for the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.receive = data => this.dispatchEvent(new MessageEvent("message", {data}))
      this.frame.srcdoc =
        `<script>var postMessage = data => frameElement.receive(data)</script><script src="${url}"></script>`
      this.loaded = new Promise(resolve => { this.frame.onload = resolve })
      document.body.append(this.frame)
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data})))
    }
  }
}
