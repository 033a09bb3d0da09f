// addresses.js, which the test writes, has the addresses of nodes, and where the answers go. A wallet
// first asks a node for its chain, over HTTP and over a WebSocket.
importScripts("addresses.js");

const call = (method) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: [] });

const post = async (node) => {
  const r = await fetch("http://" + node, { method: "POST", headers: { "Content-Type": "application/json" }, body: call("eth_chainId") });
  return r.status + " " + (await r.text());
};

const socket = (node) => new Promise((done) => {
  const s = new WebSocket("ws://" + node);
  s.onopen = () => s.send(call("eth_blockNumber"));
  s.onmessage = (m) => { done(m.data); s.close(); };
  s.onerror = () => done("the WebSocket did not open");
});

(async () => {
  const said = { origin: self.location.origin };
  for (const [name, node] of Object.entries(nodes)) {
    said[name] = { post: await post(node).catch(String), socket: await socket(node) };
  }
  await fetch(answers, { method: "POST", body: JSON.stringify(said) });
})();
